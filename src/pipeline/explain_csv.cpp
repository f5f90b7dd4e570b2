#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "data/number.h"
#include "fmd/data/csv.h"
#include "fmd/pipeline/explain.h"

namespace fmd {
namespace {

// Rows are written in the order of their changes. Sorting all of them at once would reach
// all over memory: instead the changes are cut into ranges, and one range after the other
// is gathered, sorted and written.
constexpr Index kRangeRows = Index{1} << 21;  // about, in a range
constexpr Index kMostRanges = 64;             // each is a pass over all changes
constexpr Index kPieceRows = Index{1} << 14;  // formatted by one thread

// Limits between ranges, ascending, from a regular sample.
std::vector<double> range_limits(const Matrix& change) {
  const Index rows = change.rows();
  const Index ranges = std::min((rows + kRangeRows - 1) / kRangeRows, kMostRanges);
  std::vector<double> limits;
  if (ranges <= 1) return limits;
  const Index samples = 256 * ranges, step = std::max<Index>(1, rows / samples);
  std::vector<double> sample;
  for (Index i = 0; i < rows; i += step) sample.push_back(change(i, 0));
  std::sort(sample.begin(), sample.end());
  for (Index r = 1; r < ranges; ++r)
    limits.push_back(sample[to_size(r * std::ssize(sample) / ranges)]);
  limits.erase(std::unique(limits.begin(), limits.end()), limits.end());
  return limits;
}

// A row with all that is written of it.
struct Line {
  double first = 0;  // change of the first measure
  Index row = 0;
  Index at = 0;  // its cells among those of the range
};

class Writer {
 public:
  explicit Writer(const Explanation& explained)
      : explained_(explained), classes_(cells_of(explained.report.task.classes)) {
    for (const Attribute& a : explained.train.attributes)
      groups_.push_back(cells_of(a.groups));
  }

  [[nodiscard]] std::string header() const {
    std::string text = "row,label";
    for (const Attribute& a : explained_.train.attributes) text += "," + csv_cell(a.name);
    const auto& measures = explained_.report.measures;
    if (measures.size() == 1) return text + ",change\n";
    for (const ExplainedMeasure& m : measures) text += "," + csv_cell("change_" + m.name());
    return text + "\n";
  }

  // Rows whose first change is in [low, high).
  void gather(double low, double high) {
    lines_.clear();
    codes_.clear();
    changes_.clear();
    const Matrix& change = explained_.change;
    const Study& train = explained_.train;
    for (Index row = 0; row < change.rows(); ++row) {
      if (change(row, 0) < low || change(row, 0) >= high) continue;
      lines_.push_back({change(row, 0), row, std::ssize(lines_)});
      codes_.push_back(train.y[to_size(row)]);
      for (const Attribute& a : train.attributes) codes_.push_back(a.code[to_size(row)]);
      for (Index j = 1; j < change.cols(); ++j) changes_.push_back(change(row, j));
    }
    std::sort(lines_.begin(), lines_.end(), [](const Line& a, const Line& b) {
      return a.first != b.first ? a.first < b.first : a.row < b.row;
    });
  }

  [[nodiscard]] Index pieces() const {
    return (std::ssize(lines_) + kPieceRows - 1) / kPieceRows;
  }

  [[nodiscard]] std::string piece(Index number) const {
    std::string text;
    const auto out = std::back_inserter(text);
    const Index last = std::min((number + 1) * kPieceRows, std::ssize(lines_));
    for (Index i = number * kPieceRows; i < last; ++i) {
      const Line& line = lines_[to_size(i)];
      const std::int32_t* code = &codes_[to_size(line.at) * (1 + groups_.size())];
      fmt::format_to(out, "{},", line.row + 1);
      text += classes_[to_size(*code)];
      for (const std::vector<std::string>& group : groups_) {
        text += ',';
        if (*++code >= 0) text += group[to_size(*code)];
      }
      fmt::format_to(out, ",{}", line.first);
      const Index more = explained_.change.cols() - 1;
      for (Index j = 0; j < more; ++j)
        fmt::format_to(out, ",{}", changes_[to_size(line.at * more + j)]);
      text += '\n';
    }
    return text;
  }

 private:
  static std::vector<std::string> cells_of(const std::vector<std::string>& texts) {
    std::vector<std::string> cells;
    for (const std::string& text : texts) cells.push_back(csv_cell(text));
    return cells;
  }

  const Explanation& explained_;
  std::vector<std::string> classes_;
  std::vector<std::vector<std::string>> groups_;
  std::vector<Line> lines_;
  std::vector<std::int32_t> codes_;  // of each line: label, then the attributes'
  std::vector<double> changes_;      // of each line: those of the other measures
};

}  // namespace

void Explanation::write_csv(const std::function<void(std::string_view)>& sink,
                            const Exec& exec) const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr Index kTogether = 64;  // pieces that wait in memory
  Writer writer(*this);
  sink(writer.header());
  std::vector<double> limits = range_limits(change);
  limits.push_back(infinity);
  double low = -infinity;
  for (const double high : limits) {
    writer.gather(low, high);
    low = high;
    for (Index first = 0; first < writer.pieces(); first += kTogether) {
      std::vector<std::string> texts(to_size(std::min(kTogether, writer.pieces() - first)));
      exec.for_each(std::ssize(texts),
                    [&](Index i) { texts[to_size(i)] = writer.piece(first + i); });
      for (const std::string& text : texts) sink(text);
    }
  }
}

}  // namespace fmd
