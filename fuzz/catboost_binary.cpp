#include "support/tree_file.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fmd::fuzz::tree_file(data, size, "CatBoost binary");
}
