#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "fmd/pipeline/explain.h"

namespace fmd {

// The images of the training rows that matter most for the first measure of an explanation.
struct ContactSheet {
  // By name, the strongest first. Left out, the harmful ones lower the gap and the helpful
  // ones raise it.
  std::vector<std::string> harmful, helpful;
  Bytes png;  // the harmful ones in red frames, below them the helpful ones in blue frames
};

// images: the folder or the tar file with the images. count: of each kind, at most. Throws
// Error(unsupported) for a model that does not read images, and what reading an image
// throws.
[[nodiscard]] ContactSheet contact_sheet(const Explanation& explained,
                                         const std::filesystem::path& images, Index count,
                                         const Exec& exec);

}  // namespace fmd
