#pragma once

#include "model/torch_abi.h"

namespace fmd::torch_plugin {

// The functions of FmdTorch that open and run TorchScript models.
[[nodiscard]] struct FmdOnnx script_table();
[[nodiscard]] const char* script_tail(void* model, char* message, std::size_t room);

}  // namespace fmd::torch_plugin
