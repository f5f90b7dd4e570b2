#include <algorithm>
#include <arrow/api.h>
#include <arrow/c/bridge.h>
#include <arrow/io/memory.h>
#include <cmath>
#include <cstring>
#include <exception>
#include <memory>
#include <numeric>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/column_reader.h>
#include <parquet/file_reader.h>
#include <string>
#include <vector>

#include "data/columnar/parquet_abi.h"

// The only file that sees Arrow: Parquet in memory, handed on column by column.
namespace {

struct File {
  std::shared_ptr<arrow::io::BufferReader> input;
  std::shared_ptr<parquet::FileMetaData> metadata;
  std::vector<std::string> names, types;
  std::vector<arrow::Type::type> kinds;
  std::vector<int> leaves;    // the file's own column; -1 when a column has parts
  std::vector<bool> is_text;  // may come as a dictionary
};

void tell(const std::string& what, char* message, std::size_t room) {
  if (room == 0) return;
  const std::size_t size = std::min(what.size(), room - 1);
  std::memcpy(message, what.data(), size);
  message[size] = 0;
}

// What work() gives; `failed` with a message when Arrow says no, by whatever means.
template <typename T, typename Work>
T guarded(T failed, char* message, std::size_t room, const Work& work) {
  try {
    return work();
  } catch (const std::exception& error) {
    tell(error.what(), message, room);
  } catch (...) {
    tell("an unknown error", message, room);
  }
  return failed;
}

void check(const arrow::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

std::unique_ptr<parquet::arrow::FileReader> make_reader(
    const File& file, const parquet::ArrowReaderProperties& properties) {
  auto reader = parquet::ParquetFileReader::Open(
      file.input, parquet::default_reader_properties(), file.metadata);
  auto made = parquet::arrow::FileReader::Make(arrow::default_memory_pool(),
                                               std::move(reader), properties);
  check(made.status());
  return std::move(made).ValueOrDie();
}

// Batches of a reader that lives as long as they are asked for.
class Batches : public arrow::RecordBatchReader {
 public:
  Batches(std::unique_ptr<parquet::arrow::FileReader> file,
          std::shared_ptr<arrow::RecordBatchReader> batches)
      : file_(std::move(file)), batches_(std::move(batches)) {}

  [[nodiscard]] std::shared_ptr<arrow::Schema> schema() const override {
    return batches_->schema();
  }

  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    try {
      return batches_->ReadNext(batch);
    } catch (const std::exception& error) {
      return arrow::Status::IOError(error.what());
    }
  }

 private:
  std::unique_ptr<parquet::arrow::FileReader> file_;
  std::shared_ptr<arrow::RecordBatchReader> batches_;
};

void* open(const std::uint8_t* bytes, std::uint64_t size, char* message, std::size_t room) {
  return guarded<void*>(nullptr, message, room, [&]() -> void* {
    auto file = std::make_unique<File>();
    file->input = std::make_shared<arrow::io::BufferReader>(
        std::make_shared<arrow::Buffer>(bytes, static_cast<std::int64_t>(size)));
    file->metadata = parquet::ParquetFileReader::Open(file->input)->metadata();
    const auto reader = make_reader(*file, parquet::ArrowReaderProperties(false));
    for (const auto& field : reader->manifest().schema_fields) {
      const arrow::Type::type id = field.field->type()->id();
      file->kinds.push_back(id);
      file->names.push_back(field.field->name());
      file->types.push_back(field.field->type()->ToString());
      file->leaves.push_back(field.is_leaf() ? field.column_index : -1);
      file->is_text.push_back(id == arrow::Type::STRING || id == arrow::Type::LARGE_STRING);
    }
    return file.release();
  });
}

int read(void* handle, std::int32_t column, std::int64_t batch_rows, ArrowArrayStream* out,
         char* message, std::size_t room) {
  return guarded(0, message, room, [&] {
    const File& file = *static_cast<File*>(handle);
    const auto at = static_cast<std::size_t>(column);
    if (file.leaves[at] < 0) throw std::runtime_error("a column with parts");
    parquet::ArrowReaderProperties properties(false);
    properties.set_batch_size(batch_rows);
    properties.set_pre_buffer(false);
    if (file.is_text[at]) properties.set_read_dictionary(file.leaves[at], true);
    auto reader = make_reader(file, properties);
    std::vector<int> groups(static_cast<std::size_t>(file.metadata->num_row_groups()));
    std::iota(groups.begin(), groups.end(), 0);
    auto batches = reader->GetRecordBatchReader(groups, {file.leaves[at]});
    check(batches.status());
    auto owned = std::make_shared<Batches>(
        std::move(reader),
        std::shared_ptr<arrow::RecordBatchReader>(std::move(batches).ValueOrDie()));
    check(arrow::ExportRecordBatchReader(std::move(owned), out));
    return 1;
  });
}

// Numbers of one column, decoded to where they are wanted: Arrow's arrays would have them
// in memory twice.
class Numbers {
 public:
  Numbers(const File& file, int leaf)
      : file_(parquet::ParquetFileReader::Open(
            file.input, parquet::default_reader_properties(), file.metadata)),
        leaf_(leaf) {}
  virtual ~Numbers() = default;
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;

  std::int64_t next(double* values, std::int64_t count) {
    while (column_ == nullptr || !column_->HasNext()) {
      if (group_ == file_->metadata()->num_row_groups()) return 0;
      rows_ = file_->RowGroup(group_++);
      column_ = rows_->Column(leaf_);
    }
    levels_.resize(static_cast<std::size_t>(count));
    std::int64_t found = 0;
    const std::int64_t rows = decode(*column_, levels_.data(), values, count, found);
    if (rows <= 0) throw std::runtime_error("a page that has fewer values than it says");
    // Only values that are there are stored: they move to their rows, the last one first.
    const std::int16_t present = column_->descr()->max_definition_level();
    for (std::int64_t i = rows; found < rows && i-- > 0;)
      values[i] = levels_[static_cast<std::size_t>(i)] == present && found > 0
                      ? values[--found]
                      : std::nan("");
    return rows;
  }

 private:
  virtual std::int64_t decode(parquet::ColumnReader& column, std::int16_t* levels,
                              double* values, std::int64_t count, std::int64_t& found) = 0;

  std::unique_ptr<parquet::ParquetFileReader> file_;
  std::shared_ptr<parquet::RowGroupReader> rows_;
  std::shared_ptr<parquet::ColumnReader> column_;
  std::vector<std::int16_t> levels_;
  int leaf_;
  int group_ = 0;
};

// Stored as Type, meant as Value.
template <typename Type, typename Value = typename Type::c_type>
class NumbersOf final : public Numbers {
 public:
  using Numbers::Numbers;

 private:
  using Stored = typename Type::c_type;

  std::int64_t decode(parquet::ColumnReader& column, std::int16_t* levels, double* values,
                      std::int64_t count, std::int64_t& found) override {
    auto& typed = dynamic_cast<parquet::TypedColumnReader<Type>&>(column);
    if constexpr (std::is_same_v<Stored, double>) {
      return typed.ReadBatch(count, levels, nullptr, values, &found);
    } else {
      stored_.resize(static_cast<std::size_t>(count));
      const std::int64_t rows =
          typed.ReadBatch(count, levels, nullptr, stored_.data(), &found);
      for (std::int64_t i = 0; i < found; ++i)
        values[i] =
            static_cast<double>(static_cast<Value>(stored_[static_cast<std::size_t>(i)]));
      return rows;
    }
  }

  std::vector<Stored> stored_;
};

// Null where the column holds no numbers.
std::unique_ptr<Numbers> make_numbers(const File& file, std::size_t column) {
  const int leaf = file.leaves[column];
  if (leaf < 0) return nullptr;
  switch (file.kinds[column]) {
    case arrow::Type::DOUBLE:
      return std::make_unique<NumbersOf<parquet::DoubleType>>(file, leaf);
    case arrow::Type::FLOAT:
      return std::make_unique<NumbersOf<parquet::FloatType>>(file, leaf);
    case arrow::Type::INT64:
      return std::make_unique<NumbersOf<parquet::Int64Type>>(file, leaf);
    case arrow::Type::UINT64:
      return std::make_unique<NumbersOf<parquet::Int64Type, std::uint64_t>>(file, leaf);
    case arrow::Type::UINT32:
      return std::make_unique<NumbersOf<parquet::Int32Type, std::uint32_t>>(file, leaf);
    case arrow::Type::INT8:
    case arrow::Type::INT16:
    case arrow::Type::INT32:
    case arrow::Type::UINT8:
    case arrow::Type::UINT16:
      return std::make_unique<NumbersOf<parquet::Int32Type>>(file, leaf);
    default:
      return nullptr;
  }
}

void* numbers(void* handle, std::int32_t column, char* message, std::size_t room) {
  tell("", message, room);
  return guarded<void*>(nullptr, message, room, [&]() -> void* {
    return make_numbers(*static_cast<File*>(handle), static_cast<std::size_t>(column))
        .release();
  });
}

std::int64_t next_numbers(void* handle, double* values, std::int64_t count, char* message,
                          std::size_t room) {
  return guarded<std::int64_t>(-1, message, room, [&] {
    return static_cast<Numbers*>(handle)->next(values, count);
  });
}

const FmdParquet kEntry = {
    .version = kFmdParquetVersion,
    .open = open,
    .close = [](void* file) { delete static_cast<File*>(file); },
    .rows = [](void* file) { return static_cast<File*>(file)->metadata->num_rows(); },
    .columns =
        [](void* file) {
          return static_cast<std::int32_t>(static_cast<File*>(file)->names.size());
        },
    .name =
        [](void* file, std::int32_t column) {
          return static_cast<File*>(file)->names[static_cast<std::size_t>(column)].c_str();
        },
    .type =
        [](void* file, std::int32_t column) {
          return static_cast<File*>(file)->types[static_cast<std::size_t>(column)].c_str();
        },
    .read = read,
    .numbers = numbers,
    .next_numbers = next_numbers,
    .close_numbers = [](void* handle) { delete static_cast<Numbers*>(handle); },
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const FmdParquet* fmd_parquet() {
  return &kEntry;
}
