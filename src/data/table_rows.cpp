#include "data/table_rows.h"

#include <algorithm>

namespace fmd::internal {
namespace {

class TableRows final : public RowSource {
 public:
  TableRows(std::shared_ptr<const Table> table, const std::vector<std::string>& keep)
      : table_(std::move(table)), keep_(keep) {
    for (const Column& column : table_->columns) names_.push_back(column.name);
  }

  bool next(Table& block, Index /*rows*/) override {
    if (read_) return false;
    read_ = true;
    block = {.source = table_->source, .columns = {}, .line = table_->line};
    block.tensors = table_->tensors;
    for (const Column& column : table_->columns)
      if (keep_.empty() ||
          std::find(keep_.begin(), keep_.end(), column.name) != keep_.end())
        block.columns.push_back(column);
    return true;
  }
  void rewind() override { read_ = false; }
  [[nodiscard]] const std::vector<std::string>& names() const override { return names_; }
  [[nodiscard]] double share() const override { return read_ ? 1 : 0; }

 private:
  std::shared_ptr<const Table> table_;
  std::vector<std::string> keep_, names_;
  bool read_ = false;
};

}  // namespace

std::unique_ptr<RowSource> open_table_rows(std::shared_ptr<const Table> table,
                                           const std::vector<std::string>& keep) {
  return std::make_unique<TableRows>(std::move(table), keep);
}

}  // namespace fmd::internal
