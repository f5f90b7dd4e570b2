#include "fmd/pipeline/source.h"

#include "data/columnar/arrow_rows.h"
#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/core/hash.h"
#include "fmd/data/attribute.h"
#include "fmd/formats/features_file.h"
#include "fmd/pipeline/read.h"
#include "pipeline/study_parts.h"

namespace fmd {
DataSource DataSource::file(std::string name, std::filesystem::path folder) {
  DataSource source;
  source.name_ = std::move(name);
  source.folder_ = std::move(folder);
  return source;
}

DataSource DataSource::table(Table table, std::string sha256) {
  DataSource source;
  source.name_ = table.source;
  source.sha256_ = std::move(sha256);
  source.table_ = std::make_shared<const Table>(std::move(table));
  return source;
}

DataSource DataSource::arrow(ArrowArrayStream* stream, std::string name) {
  DataSource source;
  source.name_ = name;
  source.arrow_ = std::make_shared<const ArrowBatches>(stream, std::move(name));
  return source;
}

DataSource DataSource::joined(GroupsFile groups) const {
  if (!groups.file.empty() && groups.key.empty()) {
    throw Error(ErrorKind::bad_option, "--groups needs --key",
                "name the column that both files have: --key COLUMN");
  }
  DataSource source = *this;
  source.groups_ = std::move(groups);
  return source;
}

bool DataSource::is_file() const {
  return table_ == nullptr && arrow_ == nullptr && !name_.starts_with("data:");
}

std::string DataSource::sha256() const {
  return is_file() ? hex(sha256_file(name_)) : sha256_;
}

std::uintmax_t DataSource::bytes() const {
  if (!is_file()) return 0;
  std::error_code absent;
  const std::uintmax_t bytes = std::filesystem::file_size(name_, absent);
  return absent ? 0 : bytes;
}

bool DataSource::is_features() const {
  return is_file() && is_features_file(InputFile::open(name_)->first(64));
}

bool DataSource::in_blocks() const {
  return groups_.file.empty() && (is_file() || arrow_ != nullptr);
}

Table DataSource::read(const CsvOptions& options, const Exec& exec) const {
  CsvOptions known = options;
  if (!groups_.key.empty()) known.types[groups_.key] = ColumnKind::category;
  Table table = table_ != nullptr   ? *table_
                : arrow_ != nullptr ? read_rows(*open_arrow_rows(arrow_, known, exec))
                                    : read_named(name_, known, folder_, exec);
  if (groups_.file.empty()) return table;
  return join_groups(table, read_table(groups_.file, known, exec), groups_.key);
}

TableStream DataSource::open(const CsvOptions& options, const Exec& exec) const {
  if (!in_blocks()) {
    CsvOptions all = options;
    all.keep.clear();
    auto table = table_ != nullptr && groups_.file.empty()
                     ? table_
                     : std::make_shared<const Table>(read(all, exec));
    return TableStream::of(std::move(table), options);
  }
  if (arrow_ != nullptr) return TableStream::of(arrow_, options, exec);
  refuse_features(name_);
  return TableStream::open(name_, options, exec);
}

DataSource DataSource::loaded(const CsvOptions& options, const Exec& exec) const {
  return in_blocks() || (table_ != nullptr && groups_.file.empty())
             ? *this
             : table(read(options, exec));
}

}  // namespace fmd
