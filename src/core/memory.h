#pragma once

#include <cstddef>

#include "core/internal.h"

namespace fmd::internal {

// A hint for memory that will be written as a whole. Large pages, where the system has
// them, save most of the time that it takes to get the memory.
void prefer_huge_pages(void* memory, std::size_t bytes);

}  // namespace fmd::internal
