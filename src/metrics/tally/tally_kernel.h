#pragma once

#include <cstdint>

#include "core/internal.h"
#include "fmd/core/types.h"

// The hot loops of a tally, for a few rows at a time so that everything between them stays
// in the first-level cache.
namespace fmd::internal::kernels {

inline constexpr Index kTallyRows = 256;
inline constexpr Index kCoarseBins = 10;  // of calibration
inline constexpr Index kCalibrationCopies =
    4;  // so that neighbouring rows do not wait for each other
inline constexpr int kScoreUnit = 50, kLossUnit = 45;  // scores are in units of 2^-50
inline constexpr int kWeightUnit = 60;
// Sums of a cell of a weighted table: w and w^2 of each outcome, w p, w p^2, w loss.
inline constexpr Index kWeightSums = 11;
// The units of this many rows fit into 64 bits.
inline constexpr Index kUnsettledRows = 8192;

struct TallyInput {
  Index rows = 0, classes = 2;
  const double* p = nullptr;
  const std::int32_t* y = nullptr;  // null: no labels
  const std::int32_t* decision = nullptr;
  std::int32_t favorable = -1;
};

struct TallyRows {
  alignas(64) double score[kTallyRows];    // of the favourable class; 0 where none is named
  alignas(64) double label_p[kTallyRows];  // of the label's class; 1 where it is unknown
  alignas(64) double top[kTallyRows];      // class 1 of two; otherwise the largest
  std::uint64_t p[kTallyRows], squares[kTallyRows], loss[kTallyRows], top_units[kTallyRows];
  std::uint64_t outcome[kTallyRows];  // 1 << 16 (chosen + 2 right)
  std::uint64_t hit[kTallyRows];      // the top class is the label
  std::uint32_t label[kTallyRows];    // 0 unknown, 1 + class
  std::uint32_t bin[kTallyRows];      // kind * kScoreBins + bin
  std::uint32_t coarse[kTallyRows];   // bin of calibration; kCoarseBins without a label
  std::uint32_t group[kTallyRows];
};

// Fills all fields except group. False: a label is not a class, or a probability is outside
// 0 .. 1.
[[nodiscard]] bool prepare(const TallyInput& in, TallyRows& rows);

// group = sum over attributes of (code + 1) * stride; call begin = true for the first one.
// False: a code is outside -1 .. values - 1.
[[nodiscard]] bool add_codes(const std::int32_t* code, Index rows, Index values,
                             Index stride, bool begin, TallyRows& to);

// Adds to sums[(group * labels + label) * 4 + {p, squares, loss, outcome}].
void scatter_sums(const TallyRows& rows, Index count, Index labels, std::uint64_t* sums);
// Counts bins[group * 3 * kScoreBins + bin].
void scatter_bins(const TallyRows& rows, Index count, std::uint32_t* bins);
// Adds to sums[(copy * (kCoarseBins + 1) + coarse) * 2 + {score, hits}].
void scatter_calibration(const TallyRows& rows, Index count, std::uint64_t* sums);

}  // namespace fmd::internal::kernels
