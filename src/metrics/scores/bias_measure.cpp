#include "fmd/metrics/bias_measure.h"

#include <cmath>

#include "core/check.h"
#include "core/sums.h"
#include "metrics/scores/pair_measures.h"
#include "metrics/scores/row_measures.h"

namespace fmd {
namespace {

std::span<const double> row_of(const Matrix& z, Index i) {
  return {z.row(i).data(), static_cast<std::size_t>(z.cols())};
}
std::span<double> row_of(Matrix& z, Index i) {
  return {z.row(i).data(), static_cast<std::size_t>(z.cols())};
}
std::span<double> all_of(Vector& v) {
  return {v.data(), static_cast<std::size_t>(v.size())};
}

// One block of rows or pairs with its logits.
class MeasuredBlock {
 public:
  MeasuredBlock(const MeasureData& data, const Head& head, const Vector& theta, Index b)
      : data_(data), pairs_(data.pairs), first_(b * kBlockRows) {
    const Rows& rows = pairs_ ? pairs_->c : data.rows;
    features_ = rows.block(b, scratch_);
    head.logits(features_, theta, z_, &tape_);
    if (!pairs_) return;
    features_bar_ = pairs_->cbar.block(b, scratch_bar_);
    head.logits(features_bar_, theta, zbar_, &tape_bar_);
  }

  [[nodiscard]] Index rows() const { return features_.rows; }

  [[nodiscard]] MeasureRow row(Index i) const {
    const Index entry = first_ + i;
    MeasureRow row{.z = row_of(z_, i), .zbar = {}};
    if (pairs_) {
      row.zbar = row_of(zbar_, i);
      row.y = pairs_->c.label(entry);
      row.weight = pairs_->weight[static_cast<std::size_t>(entry)];
      return row;
    }
    row.y = data_.rows.label(entry);
    row.weight = data_.rows.weight_of(entry);
    if (!data_.group.empty())
      row.group = data_.group[static_cast<std::size_t>(data_.rows.row(entry))];
    return row;
  }

  // into += J^T dB/dz of all rows.
  void add_gradient(const BiasMeasure& measure, std::span<const double> dF,
                    const Head& head, const Vector& theta, Vector& into) const {
    Matrix dz = Matrix::Zero(z_.rows(), z_.cols()),
           dzbar = Matrix::Zero(zbar_.rows(), zbar_.cols());
    for (Index i = 0; i < rows(); ++i)
      measure.dlogits(row(i), dF, row_of(dz, i),
                      pairs_ ? row_of(dzbar, i) : std::span<double>());
    head.vjp(features_, theta, tape_, dz, into);
    if (pairs_) head.vjp(features_bar_, theta, tape_bar_, dzbar, into);
  }

 private:
  const MeasureData& data_;
  const PairSet* pairs_;
  Index first_;
  Scratch scratch_, scratch_bar_;
  FeatureBlock features_, features_bar_;
  Matrix z_, zbar_;
  Tape tape_, tape_bar_;
};

void require_rows(const BiasMeasure& measure, const Rows& rows, const Head& head) {
  if (rows.X == nullptr) {
    throw Error(ErrorKind::bad_option,
                fmt::format("{}: there are no rows to measure", measure.name()),
                "give pairs to a measure on pairs, rows to the others");
  }
  require_size(measure.name(), "a row of features", rows.X->cols(), head.inputs());
}

void require_data(const BiasMeasure& measure, const MeasureData& data, const Head& head,
                  const Vector& theta) {
  require_size(measure.name(), "theta", theta.size(), head.parameters());
  if (!measure.on_pairs()) {
    require_rows(measure, data.rows, head);
    if (!data.group.empty())
      require_size(measure.name(), "group", static_cast<Index>(data.group.size()),
                   data.rows.X->rows());
    return;
  }
  if (data.pairs == nullptr) {
    throw Error(
        ErrorKind::bad_option,
        fmt::format("{}: is measured on pairs, but rows were given", measure.name()),
        "give pairs, or choose a measure on rows");
  }
  require_rows(measure, data.pairs->c, head);
  require_rows(measure, data.pairs->cbar, head);
  require_size(measure.name(), "c", data.pairs->c.size(), data.pairs->size());
  require_size(measure.name(), "cbar", data.pairs->cbar.size(), data.pairs->size());
}

}  // namespace

std::unique_ptr<BiasMeasure> make_measure(const std::string& name,
                                          const MeasureOptions& options) {
  require_option(options.groups >= 2, "measure", "groups", options.groups, ">= 2");
  require_option(options.favorable >= 0, "measure", "favorable", options.favorable, ">= 0");
  require_option(options.sharpen > 0, "measure", "sharpen", options.sharpen, "> 0");
  if (name == "co") return make_co();
  if (name == "co_tv") return make_co_tv();
  if (name == "consistency") return make_consistency();
  if (name == "demographic_parity_soft") return make_soft(name, SoftRows::all, options);
  if (name == "equal_opportunity_soft")
    return make_soft(name, SoftRows::favorable, options);
  if (name == "false_positive_soft") return make_soft(name, SoftRows::unfavorable, options);
  if (name == "loss") return make_loss();
  throw Error(ErrorKind::bad_option, fmt::format("measure: there is no measure {}", name),
              "choose one of co, co_tv, consistency, demographic_parity_soft, "
              "equal_opportunity_soft, false_positive_soft, loss");
}

MeasureValue evaluate(const BiasMeasure& measure, const MeasureData& given,
                      const Head& head, const Vector& theta, bool gradient,
                      const Exec& exec) {
  require_loss(head, "bias measure");
  // Calls work(data, blocks) for each part of the data; once where there are no parts.
  const auto for_each_part = [&](const auto& work) {
    const bool parts = measure.on_pairs() && given.parts != nullptr;
    for (Index number = 0; number < (parts ? given.parts->count() : 1); ++number) {
      const auto made = parts ? given.parts->part(number) : nullptr;
      MeasureData data = given;
      if (made != nullptr) data.pairs = made.get();
      if (!measure.on_pairs()) data.pairs = nullptr;
      require_data(measure, data, head, theta);
      work(data, block_count(data.pairs ? data.pairs->size() : data.rows.size()));
    }
  };
  Vector s = Vector::Zero(measure.statistics());
  for_each_part([&](const MeasureData& data, Index blocks) {
    s += reduce<Sums>(
             blocks, [&] { return Sums{Vector::Zero(measure.statistics())}; },
             [&](Sums& sums, Index b) {
               const MeasuredBlock block(data, head, theta, b);
               for (Index i = 0; i < block.rows(); ++i)
                 measure.add(block.row(i), all_of(sums.values));
             },
             exec)
             .values;
  });

  Vector dF(measure.statistics());
  MeasureValue result;
  result.value = measure.value(all_of(s), all_of(dF));
  if (std::isnan(result.value)) {
    throw Error(ErrorKind::bad_data,
                fmt::format("{}: no row or no group to measure it on", measure.name()),
                "give labelled rows of at least two groups, or pairs");
  }
  if (!gradient) return result;
  result.gradient = Vector::Zero(head.parameters());
  for_each_part([&](const MeasureData& data, Index blocks) {
    result.gradient +=
        reduce<Sums>(
            blocks, [&] { return Sums{Vector::Zero(head.parameters())}; },
            [&](Sums& sums, Index b) {
              const MeasuredBlock block(data, head, theta, b);
              block.add_gradient(measure, all_of(dF), head, theta, sums.values);
            },
            exec)
            .values;
  });
  return result;
}

}  // namespace fmd
