#include "metrics/tally/tally_kernel.h"

#include <bit>

#include "core/simd.h"
#include "fmd/metrics/tally.h"

#define FMD_BODY "metrics/tally/tally_body.h"
#include "core/simd_each.h"

namespace fmd::internal::kernels {

bool prepare(const TallyInput& in, TallyRows& rows) {
  return FMD_SELECT(prepare)(in, rows);
}

bool add_codes(const std::int32_t* code, Index rows, Index values, Index stride, bool begin,
               TallyRows& to) {
  return FMD_SELECT(add_codes)(code, rows, static_cast<std::uint32_t>(values),
                               static_cast<std::uint32_t>(stride), begin, to);
}

void scatter_sums(const TallyRows& rows, Index count, Index labels, std::uint64_t* sums) {
  FMD_SELECT(scatter_sums)(rows, count, static_cast<std::uint32_t>(labels), sums);
}

void scatter_bins(const TallyRows& rows, Index count, std::uint32_t* bins) {
  for (Index i = 0; i < count; ++i)
    ++bins[std::size_t{rows.group[i]} * (3 * kScoreBins) + rows.bin[i]];
}

void scatter_calibration(const TallyRows& rows, Index count, std::uint64_t* sums) {
  for (Index i = 0; i < count; ++i) {
    const auto copy = static_cast<std::size_t>(i % kCalibrationCopies);
    std::uint64_t* to = sums + (copy * (kCoarseBins + 1) + rows.coarse[i]) * 2;
    to[0] += rows.top_units[i];
    to[1] += rows.hit[i];
  }
}

}  // namespace fmd::internal::kernels
