#include "fmd/influence/explain_state.h"

#include <cmath>

#include <fmt/format.h>

#include "core/check.h"
#include "core/index.h"
#include "fmd/core/accumulator.h"
#include "fmd/curvature/hessian.h"
#include "fmd/model/loss.h"
#include "fmd/model/passes.h"
#include "influence/sweep.h"

namespace fmd {
namespace internal {

// The features of a row that are not 0, in ascending columns; the intercept is the last.
struct RowCells {
  std::vector<Index> column;
  std::vector<double> value;

  void read(const FeatureBlock& block, Index i) {
    column.clear(), value.clear();
    const auto add = [&](Index j, double x) {
      if (x == 0) return;
      column.push_back(j);
      value.push_back(x);
    };
    if (block.sparse()) {
      for (Index k = block.start[at(i)]; k < block.start[at(i + 1)]; ++k)
        add(block.column[at(k)], block.value.empty() ? 1.0F : block.value[at(k)]);
    } else {
      for (Index j = 0; j < block.cols; ++j) add(j, block.dense[i * block.cols + j]);
    }
    add(block.cols, 1);
  }
};

}  // namespace internal

namespace {

constexpr std::uint32_t kExplainFormat = 1;
constexpr int kUnit = 64;             // sums are whole numbers of 2^-64
constexpr double kMostTerm = 0x1p31;  // of one row: 2^31 rows fit the sum
constexpr Index kMostRows = Index{1} << 31;

// Pairs of classes k > l, as in HessianSum.
Index class_pairs(Index outputs) {
  const Index classes = classes_of(outputs);
  return classes * (classes - 1) / 2;
}
Index triangle(Index n) { return n * (n + 1) / 2; }

void add_signed(ExactSum& sum, double x) {
  if (!(std::abs(x) < kMostTerm))
    throw Error(ErrorKind::bad_data,
                fmt::format("explain: a row adds {} to a sum, which holds at most {}", x,
                            kMostTerm),
                "scale the features to about 1");
  ExactSum term;
  term.add(std::abs(x), kUnit);
  if (x < 0) term = {~term.low + 1, ~term.high + (term.low == 0 ? 1 : 0)};
  sum.add(term);
}

Vector values_of(std::span<const ExactSum> sums) {
  Vector values(std::ssize(sums));
  for (Index i = 0; i < values.size(); ++i) values[i] = sums[at(i)].value(kUnit);
  return values;
}

// into += h x^T for the cells x of a row, rows W_k | b_k of a whole head.
void add_outer(std::span<const double> h, const RowCells& x, Index width, ExactSum* into) {
  for (std::size_t k = 0; k < h.size(); ++k)
    for (std::size_t c = 0; c < x.column.size() && h[k] != 0; ++c)
      add_signed(into[static_cast<Index>(k) * width + x.column[c]], h[k] * x.value[c]);
}

void require_rows(const LinearHead& head, const Rows& rows) {
  if (rows.X == nullptr)
    throw Error(ErrorKind::bad_option, "explain: there are no rows",
                "give rows with features");
  require_size("explain", "a row of features", rows.X->cols(), head.inputs());
}

std::span<const double> row_span(const Matrix& z, Index i) {
  return {z.row(i).data(), at(z.cols())};
}

}  // namespace

ExplainState::ExplainState(const LinearHead& head, const Vector& theta,
                           std::vector<const BiasMeasure*> measures)
    : head_(&head), theta_(&theta) {
  require_size("explain", "theta", theta.size(), head.parameters());
  require_loss(head, "explain");
  const Index whole = head.outputs() * width();
  if (whole > kMostDense)
    throw Error(
        ErrorKind::unsupported,
        fmt::format("explain: {} parameters, in parts at most {}", whole, kMostDense),
        "explain all rows in one run");
  hessian_.resize(at(class_pairs(head.outputs()) * triangle(width())));
  here_.resize(at(whole));
  start_.resize(at(whole));
  for (const BiasMeasure* measure : measures) {
    if (measure == nullptr)
      throw Error(ErrorKind::bad_option, "explain: a measure is missing");
    measured_.push_back({measure, std::vector<ExactSum>(at(measure->statistics())),
                         std::vector<ExactSum>(at(measure->statistics() * whole))});
  }
}

void ExplainState::add_training(const Rows& rows) {
  require_rows(*head_, rows);
  if (rows.size() > kMostRows - rows_)
    throw Error(ErrorKind::bad_data, "explain: too many rows for one state");
  const Index classes = classes_of(head_->outputs()), n = width();
  Scratch scratch;
  Matrix z;
  RowCells x;
  std::vector<double> p(at(classes)), h(at(head_->outputs()));
  const std::vector<double> equal(at(head_->outputs()), 0.0);  // logits of the start
  for (Index b = 0; b < block_count(rows.size()); ++b) {
    const FeatureBlock block = rows.block(b, scratch);
    head_->logits(block, *theta_, z);
    for (Index i = 0; i < block.rows; ++i) {
      const Index entry = b * kBlockRows + i;
      const double weight = rows.weight_of(entry);
      const std::int32_t label = rows.label(entry);
      x.read(block, i);
      probabilities(row_span(z, i), p);
      ExactSum* sum = hessian_.data();
      for (Index k = 1; k < classes; ++k) {
        for (Index l = 0; l < k; ++l, sum += triangle(n)) {
          const double scale = weight * p[at(k)] * p[at(l)];
          for (std::size_t a = 0; a < x.column.size() && scale != 0; ++a)
            for (std::size_t c = 0; c <= a; ++c)
              add_signed(sum[triangle(x.column[a]) + x.column[c]],
                         scale * x.value[a] * x.value[c]);
        }
      }
      if (label >= classes)
        throw Error(ErrorKind::bad_data,
                    fmt::format("explain: row {} has label {}, must be 0 to {}",
                                rows.row(entry), label, classes - 1));
      if (label < 0 || weight == 0) continue;
      for (const auto& [logits, into] :
           {std::pair(row_span(z, i), &here_), std::pair(std::span(equal), &start_)}) {
        log_loss_gradient(logits, label, h);
        for (double& slope : h) slope *= weight;
        add_outer(h, x, n, into->data());
      }
    }
  }
  rows_ += rows.size();
}

// One block of a measure's rows or pairs.
class ExplainState::Adder {
 public:
  Adder(const LinearHead& head, const Vector& theta, Measured& to)
      : head_(head), theta_(theta), to_(to), outputs_(at(head.outputs())) {}

  void add(const MeasureData& data) {
    const Rows& rows = data.pairs != nullptr ? data.pairs->c : data.rows;
    require_fit(data, rows);
    for (Index b = 0; b < block_count(rows.size()); ++b) {
      const FeatureBlock block = rows.block(b, scratch_);
      head_.logits(block, theta_, z_);
      FeatureBlock bar;
      if (data.pairs != nullptr) {
        bar = data.pairs->cbar.block(b, scratch_bar_);
        head_.logits(bar, theta_, zbar_);
      }
      for (Index i = 0; i < block.rows; ++i) {
        x_.read(block, i);
        if (data.pairs != nullptr) xbar_.read(bar, i);
        add_row(row_of(data, rows, b * kBlockRows + i, i), data.pairs != nullptr);
      }
    }
  }

 private:
  void require_fit(const MeasureData& data, const Rows& rows) const {
    require_rows(head_, rows);
    if (!data.group.empty() && data.pairs == nullptr)
      require_size("explain", "group", std::ssize(data.group), rows.X->rows());
    if (data.pairs == nullptr) return;
    require_rows(head_, data.pairs->cbar);
    require_size("explain", "c", rows.size(), data.pairs->size());
    require_size("explain", "cbar", data.pairs->cbar.size(), data.pairs->size());
  }

  [[nodiscard]] MeasureRow row_of(const MeasureData& data, const Rows& rows, Index entry,
                                  Index i) const {
    MeasureRow row{.z = row_span(z_, i), .zbar = {}, .y = rows.label(entry)};
    if (data.pairs != nullptr) {
      row.zbar = row_span(zbar_, i);
      row.weight = data.pairs->weight[at(entry)];
      return row;
    }
    row.weight = rows.weight_of(entry);
    if (!data.group.empty()) row.group = data.group[at(rows.row(entry))];
    return row;
  }

  void add_row(const MeasureRow& row, bool pairs) {
    const std::size_t count = to_.statistics.size();
    const Index width = head_.inputs() + 1;
    std::vector<double> s(count, 0.0), dF(count, 0.0), dz(outputs_), dzbar(outputs_);
    to_.measure->add(row, s);
    for (std::size_t k = 0; k < count; ++k) {
      add_signed(to_.statistics[k], s[k]);
      dF[k] = 1;
      std::fill(dz.begin(), dz.end(), 0.0);
      std::fill(dzbar.begin(), dzbar.end(), 0.0);
      to_.measure->dlogits(row, dF, dz, pairs ? std::span(dzbar) : std::span<double>());
      dF[k] = 0;
      ExactSum* into = to_.slopes.data() + k * outputs_ * at(width);
      add_outer(dz, x_, width, into);
      if (pairs) add_outer(dzbar, xbar_, width, into);
    }
  }

  const LinearHead& head_;
  const Vector& theta_;
  Measured& to_;
  std::size_t outputs_;
  Scratch scratch_, scratch_bar_;
  Matrix z_, zbar_;
  RowCells x_, xbar_;
};

void ExplainState::add(std::size_t measure, const MeasureData& data) {
  if (measure >= measured_.size())
    throw Error(ErrorKind::bad_option,
                fmt::format("explain: there is no measure {}", measure));
  Measured& to = measured_[measure];
  MeasureData part = data;
  if (!to.measure->on_pairs()) part.pairs = nullptr, part.parts = nullptr;
  const bool rows = part.pairs == nullptr && part.parts == nullptr;
  if (rows ? to.measure->on_pairs() || part.rows.X == nullptr : false)
    throw Error(
        ErrorKind::bad_option,
        fmt::format("{}: there are no rows or pairs to measure", to.measure->name()),
        "give pairs to a measure on pairs, rows to the others");
  Adder adder(*head_, *theta_, to);
  if (part.parts == nullptr) return adder.add(part);
  for (Index number = 0; number < part.parts->count(); ++number) {
    const std::shared_ptr<const PairSet> made = part.parts->part(number);
    part.pairs = made.get();
    adder.add(part);
  }
}

std::vector<std::vector<ExactSum>*> ExplainState::sums() {
  std::vector<std::vector<ExactSum>*> all = {&hessian_, &here_, &start_};
  for (Measured& one : measured_) {
    all.push_back(&one.statistics);
    all.push_back(&one.slopes);
  }
  return all;
}

// Of all that the sums depend on, but for the rows.
Hash ExplainState::identity() const {
  ByteWriter all;
  for (const Index size : {head_->inputs(), head_->outputs(), head_->parameters()})
    all.put(size);
  all.put_text(to_string(head_->link()));
  all.put_array(std::span<const std::int32_t>(head_->options().output_of));
  all.put_array(std::span<const double>(theta_->data(), at(theta_->size())));
  for (const Measured& one : measured_) {
    all.put_text(one.measure->name());
    all.put(one.measure->statistics());
  }
  return sha256(all.bytes());
}

namespace {

[[noreturn]] void other_head() {
  throw Error(ErrorKind::wrong_model,
              "explain: the states are of other models or other measures",
              "make every state with the same model and the same measures");
}

[[noreturn]] void damaged_sums() {
  throw Error(ErrorKind::bad_model, "explain: the saved state contradicts itself",
              "the file is damaged: make it again");
}

}  // namespace

void ExplainState::merge(const ExplainState& other) {
  if (identity() != other.identity()) other_head();
  if (other.rows_ > kMostRows - rows_)
    throw Error(ErrorKind::bad_data, "explain: too many rows for one state");
  rows_ += other.rows_;
  ExplainState from = other;
  const auto to = sums(), more = from.sums();
  for (std::size_t s = 0; s < to.size(); ++s)
    for (std::size_t i = 0; i < to[s]->size(); ++i) (*to[s])[i].add((*more[s])[i]);
}

void ExplainState::save(ByteWriter& out) const {
  out.put(kExplainFormat);
  out.put(identity());
  out.put(rows_);
  ExplainState copy = *this;
  for (const std::vector<ExactSum>* sum : copy.sums())
    out.put_array(std::span<const ExactSum>(*sum));
}

void ExplainState::load(ByteReader& in) {
  if (in.get<std::uint32_t>() != kExplainFormat) damaged_sums();
  if (in.get<Hash>() != identity()) other_head();
  const auto rows = in.get<Index>();
  if (rows < 0 || rows > kMostRows) damaged_sums();
  ExplainState read = *this;
  for (std::vector<ExactSum>* sum : read.sums()) {
    const std::size_t size = sum->size();
    *sum = in.get_array<ExactSum>();
    if (sum->size() != size) damaged_sums();
  }
  read.rows_ = rows;
  *this = std::move(read);
}

ExplainSolution ExplainState::solve(const ExplainStateOptions& options) const {
  if (rows_ == 0)
    throw Error(ErrorKind::bad_data, "explain: there are no training rows",
                "give at least one row");
  const Index n = width(), pairs = class_pairs(head_->outputs());
  const auto count = static_cast<double>(rows_);
  Matrix sum = Matrix::Zero(pairs * n, n);
  for (Index k = 0; k < pairs; ++k)
    for (Index a = 0; a < n; ++a)
      for (Index c = 0; c <= a; ++c)
        sum(k * n + a, c) = hessian_[at(k * triangle(n) + triangle(a) + c)].value(kUnit);
  const Matrix H = mean_hessian(
      *head_, HessianSum(head_->inputs(), head_->outputs(), rows_, std::move(sum)),
      {.l2 = options.l2});

  ExplainSolution solution;
  solution.rows = rows_;
  Matrix gradients(theta_->size(), std::ssize(measured_));
  for (std::size_t j = 0; j < measured_.size(); ++j) {
    const Measured& one = measured_[j];
    const Vector s = values_of(one.statistics);
    Vector dF(s.size());
    double value = one.measure->value({s.data(), at(s.size())}, {dF.data(), at(dF.size())});
    if (std::isnan(value))
      throw Error(
          ErrorKind::bad_data,
          fmt::format("{}: no row or no group to measure it on", one.measure->name()),
          "give labelled rows of at least two groups, or pairs");
    Vector gradient = Vector::Zero(head_->outputs() * n);
    for (Index k = 0; k < s.size(); ++k)
      gradient +=
          dF[k] *
          values_of(
              std::span(one.slopes).subspan(at(k * gradient.size()), at(gradient.size())));
    gradient = head_->shrink(std::move(gradient));
    if (value < 0) value = -value, gradient = -gradient;
    solution.value.push_back(value);
    gradients.col(static_cast<Index>(j)) = gradient;
  }
  InverseResult solved = make_cholesky(H, options.damping)->apply(gradients);
  solution.solve = solved.summary;
  if (!solved.x.allFinite())
    throw Error(ErrorKind::numerical, "explain: the solution is not finite",
                "use a larger damping, or more rows");
  solution.v = std::move(solved.x);
  const Vector here =
      head_->shrink(values_of(here_)) / count + ridge_gradient(*head_, *theta_, options.l2);
  const double start = head_->shrink(values_of(start_)).norm() / count;
  solution.relative_gradient = start > 0 ? here.norm() / start : 0;
  return solution;
}

Matrix changes(const LinearHead& head, const Rows& train, const Vector& theta,
               const ExplainSolution& solution, const Exec& exec) {
  require_rows(head, train);
  require_size("explain", "v", solution.v.rows(), theta.size());
  Matrix change(train.size(), solution.v.cols());
  static_cast<void>(sweep_rows(head, train, theta, solution.v, change, exec));
  return change / static_cast<double>(solution.rows);
}

}  // namespace fmd
