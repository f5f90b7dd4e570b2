#pragma once

#include <cstddef>

namespace fmd {

// Hint for memory that will be written to as a whole: large pages, where the system has
// them, save most of the time that it takes to get the memory.
void prefer_huge_pages(void* memory, std::size_t bytes);

}  // namespace fmd
