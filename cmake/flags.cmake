# How we compile ourselves; never exported to those who use the library.
add_library(fmd_flags INTERFACE)
target_compile_options(fmd_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion
  $<$<BOOL:${FMD_WERROR}>:-Werror>
  # No fused multiply-add unless we write it: results must not depend on what the
  # compiler chose to contract.
  -ffp-contract=off
  # errno of sqrt and friends is never read, and setting it prevents vectorising.
  -fno-math-errno
  # __FILE__ relative to the project: the same binary from every directory.
  -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)

# Our own asserts stay on in every build. Eigen's check each coefficient access, which
# costs too much where speed counts; all other builds have them.
target_compile_definitions(fmd_flags INTERFACE $<$<CONFIG:Release>:EIGEN_NO_DEBUG>)

# GCC 12 sees overflows in the standard library's own code that are not there.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14)
  target_compile_options(fmd_flags INTERFACE -Wno-stringop-overflow -Wno-restrict
                         -Wno-array-bounds -Wno-alloc-size-larger-than)
endif()

# A note about a change of GCC 10.1, long ago, in how pairs of numbers are passed.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  target_compile_options(fmd_flags INTERFACE -Wno-psabi)
endif()

# Let the compiler take 512 MB before it looks for memory to free: a tenth less time.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(fmd_flags INTERFACE
    "SHELL:--param ggc-min-expand=100" "SHELL:--param ggc-min-heapsize=524288")
endif()

if(FMD_USES_CCACHE)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(fmd_flags INTERFACE -fpch-preprocess)
  elseif(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(fmd_flags INTERFACE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
endif()
