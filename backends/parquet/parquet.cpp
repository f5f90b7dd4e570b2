#include <algorithm>
#include <arrow/api.h>
#include <arrow/c/bridge.h>
#include <arrow/io/memory.h>
#include <cstring>
#include <exception>
#include <memory>
#include <numeric>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/file_reader.h>
#include <string>
#include <vector>

#include "data/parquet_abi.h"

// The only file that sees Arrow: Parquet in memory, handed on column by column.
namespace {

struct File {
  std::shared_ptr<arrow::io::BufferReader> input;
  std::shared_ptr<parquet::FileMetaData> metadata;
  std::vector<std::string> names, types;
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
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const FmdParquet* fmd_parquet() {
  return &kEntry;
}
