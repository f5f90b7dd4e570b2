// No include guard: compiles FMD_BODY, a kernel's body (see core/simd.h), once for each
// instruction set. Use:
//
//   #define FMD_BODY "metrics/tally/tally_body.h"
//   #include "core/simd_each.h"

#define FMD_ISA portable
#define FMD_LANES 2
#define FMD_TARGET
#define FMD_FMA(a, b, c) ((a) * (b) + (c))
#define FMD_WIDEN(f) __builtin_convertvector(f, V)
#define FMD_KEEP(v)
#include FMD_BODY
#undef FMD_ISA
#undef FMD_LANES
#undef FMD_TARGET
#undef FMD_FMA
#undef FMD_WIDEN
#undef FMD_KEEP

#if FMD_X86
#define FMD_ISA avx2
#define FMD_LANES 4
#define FMD_TARGET __attribute__((target("avx2,fma")))
#define FMD_FMA(a, b, c) ((V)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#define FMD_WIDEN(f) ((V)_mm256_cvtps_pd((__m128)(f)))
#define FMD_KEEP(v) asm("" : "+x"(v))
#include FMD_BODY
#undef FMD_ISA
#undef FMD_LANES
#undef FMD_TARGET
#undef FMD_FMA
#undef FMD_WIDEN
#undef FMD_KEEP

#define FMD_ISA avx512
#define FMD_LANES 8
#define FMD_TARGET __attribute__((target("avx512f,avx512dq,fma")))
#define FMD_FMA(a, b, c) ((V)_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))
#define FMD_WIDEN(f) ((V)_mm512_maskz_cvtps_pd(0xff, (__m256)(f)))
#define FMD_KEEP(v) asm("" : "+v"(v))
#include FMD_BODY
#undef FMD_ISA
#undef FMD_LANES
#undef FMD_TARGET
#undef FMD_FMA
#undef FMD_WIDEN
#undef FMD_KEEP
#endif

#undef FMD_BODY
