#include "fmd/data/table_stream.h"

#include "data/columnar/npy_rows.h"
#include "data/columnar/parquet_rows.h"
#include "data/csv/csv_rows.h"
#include "data/csv/read_all.h"
#include "fmd/data/npy.h"

namespace fmd {

struct TableStream::State {
  std::unique_ptr<RowSource> rows;
  std::string source;
  Index row = 0;
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
  state->rows = open_rows(InputFile::open(path), options, exec);
  return TableStream(std::move(state));
}

bool TableStream::next(Table& block) {
  if (!state_->rows->next(block, kStreamRows)) return false;
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
  return read_rows(*open_rows(file, options, exec));
}

}  // namespace fmd
