#pragma once

// Function multiversioning by hand: a kernel's body (a header without include guard) is
// compiled by core/simd_each.h once for each instruction set, each time in its own
// namespace, and the caller picks one by FMD_SELECT when it runs. So one binary uses what
// each CPU has; -march=native is never used. No ifunc: those run before the sanitizers are
// ready and crash there.
//
// A body sees   FMD_ISA      its namespace
//               FMD_LANES    doubles in a vector
//               FMD_TARGET   attribute that every function in it must have
//               FMD_INLINE   the same and always inlined, for its helpers
//               FMD_FMA      fused a * b + c of vectors, where the instruction set has one
//               FMD_WIDEN    a vector of floats as doubles
//               FMD_KEEP     keeps a vector in a register
//
// Results may differ in last bits between instruction sets, never between numbers of
// threads.
#define FMD_INLINE __attribute__((always_inline)) FMD_TARGET inline

#if defined(__x86_64__) && defined(__GNUC__)
#define FMD_X86 1
#include <immintrin.h>
#define FMD_SELECT(function)                                                          \
  (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")            \
       ? avx512::function                                                             \
   : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? avx2::function \
                                                                     : portable::function)
#else
#define FMD_X86 0
#define FMD_SELECT(function) (portable::function)
#endif
