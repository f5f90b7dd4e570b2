#include "fmd/core/error.h"
#include "fmd/metrics/tally.h"

namespace fmd {
namespace {

constexpr std::uint32_t kFormat = 1;

[[noreturn]] void damaged() {
  throw Error(ErrorKind::bad_model, "tally: the saved state contradicts itself",
              "the file is damaged: make it again");
}

template <typename T>
void put(ByteWriter& out, const std::vector<T>& values) {
  out.put_array(std::span<const T>(values));
}

// An array that must have the size that the plan gives it.
template <typename T>
void get(ByteReader& in, std::vector<T>& into) {
  std::vector<T> values = in.get_array<T>();
  if (values.size() != into.size()) damaged();
  into = std::move(values);
}

}  // namespace

void Tally::save(ByteWriter& out) const {
  if (unsettled_ > 0 || unsettled_bins_ > 0) {
    Tally settled = *this;
    settled.settle();
    settled.settle_bins();
    return settled.save(out);
  }
  out.put(kFormat);
  out.put(plan_.classes);
  out.put(static_cast<std::int32_t>(plan_.favorable));
  put(out, plan_.values);
  for (const bool flag : {plan_.crossed, plan_.labelled, plan_.weighted, keeping_})
    out.put(static_cast<std::uint8_t>(flag));
  out.put(plan_.keep_rows);
  out.put(rows_);
  for (const Table& table : tables_) {
    put(out, table.sum);
    put(out, table.count);
    put(out, table.weight);
    put(out, table.bin);
  }
  put(out, calibration_);
  if (!keeping_) return;
  put(out, kept_.score);
  put(out, kept_.y);
  for (const auto& code : kept_.code) put(out, code);
}

Tally Tally::load(ByteReader& in) {
  if (in.get<std::uint32_t>() != kFormat) damaged();
  TallyPlan plan;
  plan.classes = in.get<Index>();
  plan.favorable = in.get<std::int32_t>();
  plan.values = in.get_array<Index>();
  const auto flag = [&] { return in.get<std::uint8_t>() != 0; };
  plan.crossed = flag();
  plan.labelled = flag();
  plan.weighted = flag();
  const bool keeping = flag();
  plan.keep_rows = in.get<Index>();
  // Memory is taken only for what is there.
  Tally tally;
  try {
    Index sums = 0;
    for (const auto& attributes : tables_of(plan)) sums += sums_of(plan, attributes);
    if (static_cast<std::size_t>(sums) * 80 > in.left()) damaged();
    tally = Tally(plan);
  } catch (const Error&) {
    damaged();
  }
  tally.rows_ = in.get<Index>();
  for (Table& table : tally.tables_) {
    get(in, table.sum);
    get(in, table.count);
    get(in, table.weight);
    table.bin = in.get_array<Index>();
    if (!table.bin.empty() && table.bin.size() != table.recent_bin.size()) damaged();
  }
  get(in, tally.calibration_);
  tally.keeping_ = keeping;
  if (!keeping) return tally;
  tally.kept_.score = in.get_array<double>();
  tally.kept_.y = in.get_array<std::int32_t>();
  const std::size_t kept = tally.kept_.score.size();
  if (static_cast<Index>(kept) != tally.rows_ || plan.favorable < 0) damaged();
  if (tally.kept_.y.size() != (plan.labelled ? kept : 0)) damaged();
  for (const std::int32_t y : tally.kept_.y)
    if (y < -1 || y >= plan.classes) damaged();
  for (std::size_t a = 0; a < plan.values.size(); ++a) {
    auto& code = tally.kept_.code[a];
    code = in.get_array<std::int32_t>();
    if (code.size() != kept) damaged();
    for (const std::int32_t c : code)
      if (c < -1 || c >= plan.values[a]) damaged();
  }
  return tally;
}

}  // namespace fmd
