#pragma once

#include "fmd/core/plugin.h"
#include "fmd/formats/model_file.h"

namespace fmd {

// TorchScript files (torch.jit.save) whose end is dense layers. What is below is run by
// PyTorch's C++ library, through the plug-in fmd_torch.so; a patch changes the numbers of
// the head in place, and their checksums in the archive. It is not among model_formats():
// a TorchScript file can hold code that runs when it is opened, so whoever opens one says
// so by adding this format. backends: where the plug-in is; must outlive the format.
[[nodiscard]] ModelFormat torchscript_format(const BackendFiles* backends = nullptr);

// model_formats() and torchscript_format().
[[nodiscard]] ModelFormats formats_with_torchscript(const BackendFiles* backends = nullptr);

}  // namespace fmd
