#include <algorithm>
#include <bit>
#include <cmath>

#include "core/check.h"
#include "core/index.h"
#include "fmd/metrics/tally.h"
#include "metrics/tally_kernel.h"

namespace fmd {
namespace {

using kernels::kWeightUnit;
constexpr float kLeastWeight = 0x1p-20F, kMostWeight = 0x1p20F;

void require_fit(const TallyPlan& plan, const ScoredBlock& block) {
  require_size("tally", "a row of p", block.classes, plan.classes);
  require_size("tally", "decision", static_cast<Index>(block.decision.size()), block.rows);
  if (!block.y.empty() || block.rows == 0)
    require_size("tally", "y", static_cast<Index>(block.y.size()), block.rows);
  require_size("tally", "code of a row", static_cast<Index>(block.code.size()),
               static_cast<Index>(plan.values.size()));
  for (const auto& code : block.code)
    require_size("tally", "code", static_cast<Index>(code.size()), block.rows);
  if (plan.weighted || !block.weight.empty())
    require_size("tally", "weight", static_cast<Index>(block.weight.size()),
                 plan.weighted ? block.rows : 0);
  if (!plan.labelled) require_size("tally", "y", static_cast<Index>(block.y.size()), 0);
}

// What the kernel found wrong in some rows, said of the first of them.
[[noreturn]] void explain(const TallyPlan& plan, const ScoredBlock& block, Index first,
                          Index rows) {
  for (Index i = first; i < first + rows; ++i) {
    if (!block.y.empty())
      require_option(block.y[at(i)] >= -1 && block.y[at(i)] < plan.classes, "tally", "y",
                     block.y[at(i)], fmt::format("a class below {}, or -1", plan.classes));
    for (std::size_t a = 0; a < block.code.size(); ++a) {
      const std::int32_t code = block.code[a][at(i)];
      if (code >= -1 && code < plan.values[a]) continue;
      throw Error(
          ErrorKind::bad_shape,
          fmt::format("tally: a row has the group {}, there are {}", code, plan.values[a]),
          "number groups from 0, and rows without one -1");
    }
    for (Index k = 0; k < plan.classes; ++k) {
      const double p = block.p[i * plan.classes + k];
      if (p >= 0 && p <= 1) continue;
      throw Error(
          ErrorKind::bad_value,
          fmt::format("tally: row {} has the score {}, which is no probability", i + 1, p),
          "scores are numbers from 0 to 1");
    }
  }
  throw Error(ErrorKind::bad_value, "tally: a row cannot be counted");
}

}  // namespace

struct Tally::Scratch : kernels::TallyRows {};

void Tally::count_rows(const ScoredBlock& block, Index first, Index rows,
                       Scratch& scratch) {
  const kernels::TallyInput in{.rows = rows,
                               .classes = plan_.classes,
                               .p = block.p + first * plan_.classes,
                               .y = block.y.empty() ? nullptr : block.y.data() + first,
                               .decision = block.decision.data() + first,
                               .favorable = plan_.favorable};
  if (!kernels::prepare(in, scratch)) explain(plan_, block, first, rows);
  for (Table& table : tables_) {
    if (table.attributes.empty()) std::fill_n(scratch.group, rows, 0);
    for (std::size_t a = 0; a < table.attributes.size(); ++a) {
      const std::size_t which = at(table.attributes[a]);
      if (!kernels::add_codes(block.code[which].data() + first, rows, plan_.values[which],
                              table.stride[a], a == 0, scratch))
        explain(plan_, block, first, rows);
    }
    kernels::scatter_sums(scratch, rows, plan_.classes + 1, table.recent.data());
    if (!table.recent_bin.empty())
      kernels::scatter_bins(scratch, rows, table.recent_bin.data());
    if (!plan_.weighted) continue;
    for (Index i = 0; i < rows; ++i) {
      const auto w = static_cast<double>(block.weight[at(first + i)]);
      const std::size_t cell =
          std::size_t{scratch.group[i]} * at(plan_.classes + 1) + scratch.label[i];
      const double loss =
          std::ldexp(static_cast<double>(scratch.loss[i]), -kernels::kLossUnit);
      const int outcome = std::countr_zero(scratch.outcome[i]) / 16;
      ExactSum* to = table.weight.data() + cell * at(kernels::kWeightSums);
      to[outcome].add(w, kWeightUnit);
      to[4 + outcome].add(w * w, kWeightUnit);
      to[8].add(w * scratch.score[i], kWeightUnit);
      to[9].add(w * scratch.score[i] * scratch.score[i], kWeightUnit);
      to[10].add(w * loss, kWeightUnit);
    }
  }
  if (plan_.weighted)
    add_weights(block, first, rows, scratch);
  else
    kernels::scatter_calibration(scratch, rows, recent_calibration_.data());
}

void Tally::add_weights(const ScoredBlock& block, Index first, Index rows,
                        Scratch& scratch) {
  for (Index i = 0; i < rows; ++i) {
    if (scratch.coarse[i] == kernels::kCoarseBins) continue;
    const auto w = static_cast<double>(block.weight[at(first + i)]);
    ExactSum* to = calibration_.data() + 2 * std::size_t{scratch.coarse[i]};
    to[0].add(w * scratch.top[i], kWeightUnit);
    to[1].add(scratch.hit[i] == 0 ? 0.0 : w, kWeightUnit);
  }
}

void Tally::keep(const ScoredBlock& block) {
  if (!keeping_) return;
  if (rows_ > plan_.keep_rows) {
    keeping_ = false;
    kept_ = {};
    return;
  }
  for (Index i = 0; i < block.rows; ++i)
    kept_.score.push_back(block.p[i * plan_.classes + plan_.favorable]);
  if (plan_.labelled) {
    if (block.y.empty())
      kept_.y.insert(kept_.y.end(), at(block.rows), -1);
    else
      kept_.y.insert(kept_.y.end(), block.y.begin(), block.y.end());
  }
  for (std::size_t a = 0; a < block.code.size(); ++a)
    kept_.code[a].insert(kept_.code[a].end(), block.code[a].begin(), block.code[a].end());
}

void Tally::add(const ScoredBlock& block) {
  require_fit(plan_, block);
  for (const float w : block.weight) {
    if (w == 0 || (w >= kLeastWeight && w <= kMostWeight)) continue;
    throw Error(ErrorKind::bad_value, fmt::format("tally: a row has the weight {}", w),
                "weights are 0, or from a millionth to a million: multiply all of them by "
                "the same number");
  }
  Scratch scratch;
  for (Index first = 0; first < block.rows; first += kernels::kTallyRows) {
    const Index rows = std::min(kernels::kTallyRows, block.rows - first);
    if (unsettled_ + rows > kernels::kUnsettledRows) settle();
    if (unsettled_bins_ + rows > Index{1} << 31) settle_bins();
    count_rows(block, first, rows, scratch);
    unsettled_ += rows;
    unsettled_bins_ += rows;
  }
  rows_ += block.rows;
  keep(block);
}

Tally tally(const TallyPlan& plan, const ScoredBlock& all, const Exec& exec) {
  require_fit(plan, all);
  const int threads = exec.pool == nullptr ? 1 : exec.pool->threads();
  constexpr Index kLeastRows = 1 << 18;  // a tally of its own must be worth it
  const Index parts = std::max<Index>(
      1, std::min<Index>(all.rows / kLeastRows, threads == 1 ? 1 : 4 * threads));
  // More rows than are kept: no part need begin to keep them. The plan of the result is the
  // one that was asked for.
  std::vector<Tally> done(at(parts), Tally(plan));
  exec.for_each(parts, [&](Index k) {
    const Index first = all.rows * k / parts, last = all.rows * (k + 1) / parts;
    const auto piece = [&](auto span) {
      return span.empty() ? span : span.subspan(at(first), at(last - first));
    };
    ScoredBlock part{.rows = last - first,
                     .classes = all.classes,
                     .p = all.p + first * all.classes,
                     .y = piece(all.y),
                     .decision = piece(all.decision),
                     .code = {},
                     .weight = piece(all.weight)};
    for (const auto& code : all.code) part.code.push_back(piece(code));
    done[at(k)].add(part);
  });
  for (std::size_t k = 1; k < done.size(); ++k) {
    done[0].merge(done[k]);
    done[k] = Tally();
  }
  return std::move(done[0]);
}

ScoredBlock block_of(const Scored& scored) {
  return {.rows = scored.rows(),
          .classes = std::max<Index>(2, scored.p.cols()),
          .p = scored.p.data(),
          .y = scored.y,
          .decision = scored.decision,
          .code = {},
          .weight = scored.weight};
}

}  // namespace fmd
