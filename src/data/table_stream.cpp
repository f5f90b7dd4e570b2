#include "fmd/data/table_stream.h"

#include <algorithm>
#include <numeric>

#include "data/csv_scan.h"
#include "data/number.h"

namespace fmd {

struct TableStream::State {
  Table table;
  std::vector<std::string> names;
  Index row = 0;
};

TableStream::TableStream(std::unique_ptr<State> state) : state_(std::move(state)) {}
TableStream::TableStream(TableStream&&) noexcept = default;
TableStream& TableStream::operator=(TableStream&&) noexcept = default;
TableStream::~TableStream() = default;

TableStream TableStream::open(const std::filesystem::path& path, const CsvOptions& options,
                              const Exec& /*exec*/) {
  auto state = std::make_unique<State>();
  state->table = read_csv(path, options);
  state->names = options.names;
  if (options.names.empty()) {
    const std::string text = read_text(path);
    CsvScanner scanner(checked_text(text, path.string()), path.string(), options);
    (void)scanner.next();
    std::string scratch;
    for (const RawCell& cell : scanner.cells())
      state->names.emplace_back(cell_text(cell, scratch));
  }
  return TableStream(std::move(state));
}

bool TableStream::next(Table& block) {
  const Index count = std::min(kStreamRows, state_->table.rows() - state_->row);
  if (count == 0) return false;
  std::vector<Index> rows(to_size(count));
  std::iota(rows.begin(), rows.end(), state_->row);
  block = select(state_->table, rows);
  state_->row += count;
  return true;
}

void TableStream::rewind() { state_->row = 0; }

const std::vector<std::string>& TableStream::names() const { return state_->names; }

const std::string& TableStream::source() const { return state_->table.source; }

double TableStream::share() const {
  return static_cast<double>(state_->row) / static_cast<double>(state_->table.rows());
}

Index TableStream::row() const { return state_->row; }

}  // namespace fmd
