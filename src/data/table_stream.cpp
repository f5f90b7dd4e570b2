#include "fmd/data/table_stream.h"

#include "data/columnar/arrow_rows.h"
#include "data/columnar/npy_rows.h"
#include "data/columnar/parquet_rows.h"
#include "data/columns/notations.h"
#include "data/csv/csv_rows.h"
#include "data/csv/read_all.h"
#include "data/table_rows.h"
#include "fmd/data/npy.h"

namespace fmd {

struct TableStream::State {
  std::unique_ptr<RowSource> rows;
  std::string source;
  Index row = 0;
  CsvOptions options = {};  // has the notations
  Table texts = {};         // a block before they are applied
};

namespace {

std::unique_ptr<RowSource> open_rows(const OpenFile& file, const CsvOptions& options,
                                     const Exec& exec) {
  switch (table_format(start_of(file))) {
    case TableFormat::npy:
      return open_npy_rows(file, options, exec);
    case TableFormat::parquet:
      return open_parquet_rows(file, options, exec);
    default:
      return open_csv_rows(file, options, exec);
  }
}

}  // namespace

TableFormat table_format(std::span<const std::uint8_t> bytes) {
  if (is_npy(bytes)) return TableFormat::npy;
  return is_parquet(bytes) ? TableFormat::parquet : TableFormat::csv;
}

TableStream::TableStream(std::unique_ptr<State> state) : state_(std::move(state)) {}
TableStream::TableStream(TableStream&&) noexcept = default;
TableStream& TableStream::operator=(TableStream&&) noexcept = default;
TableStream::~TableStream() = default;

TableStream TableStream::open(const std::filesystem::path& path, const CsvOptions& options,
                              const Exec& exec) {
  auto state = std::make_unique<State>();
  state->source = path.string();
  state->options = options;
  state->rows = open_rows(InputFile::open(path), as_texts(options), exec);
  return TableStream(std::move(state));
}

TableStream TableStream::of(std::shared_ptr<const Table> table, const CsvOptions& options) {
  auto state = std::make_unique<State>();
  state->source = table->source;
  state->rows = open_table_rows(std::move(table), options.keep);
  return TableStream(std::move(state));
}

TableStream TableStream::of(std::shared_ptr<const ArrowBatches> batches,
                            const CsvOptions& options, const Exec& exec) {
  auto state = std::make_unique<State>();
  state->source = batches->source();
  state->rows = open_arrow_rows(std::move(batches), options, exec);
  return TableStream(std::move(state));
}

bool TableStream::next(Table& block) {
  if (state_->options.notations.empty()) {
    if (!state_->rows->next(block, kStreamRows)) return false;
  } else {
    if (!state_->rows->next(state_->texts, kStreamRows)) return false;
    block = state_->texts;
    apply_notations(state_->options, block);
  }
  state_->row += block.rows();
  return true;
}

void TableStream::rewind() {
  state_->rows->rewind();
  state_->row = 0;
}

const std::vector<std::string>& TableStream::names() const { return state_->rows->names(); }
const std::string& TableStream::source() const { return state_->source; }
double TableStream::share() const { return state_->rows->share(); }
Index TableStream::row() const { return state_->row; }

Table read_table(const std::filesystem::path& path, const CsvOptions& options,
                 const Exec& exec) {
  const OpenFile file = InputFile::open(path);
  if (table_format(start_of(file)) == TableFormat::csv)
    return read_csv_file(file, options, exec);
  Table table = read_rows(*open_rows(file, as_texts(options), exec));
  apply_notations(options, table);
  return table;
}

}  // namespace fmd
