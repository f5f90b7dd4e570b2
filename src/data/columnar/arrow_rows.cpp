#include "data/columnar/arrow_rows.h"

#include <algorithm>

#include "data/columnar/arrow_column.h"
#include "data/number.h"

namespace fmd::internal {
namespace {

// One column of the batches as a stream of its own, which ArrowColumn reads. What it hands
// out belongs to the batches: releasing it does nothing.
struct OneColumn {
  std::shared_ptr<const ArrowBatches> all;
  std::int64_t column = 0;
  std::size_t next = 0;
  ArrowSchema* schema = nullptr;
  ArrowArray cells = {};
  ArrowArray* children[1] = {};
};

OneColumn& own(ArrowArrayStream* stream) {
  return *static_cast<OneColumn*>(stream->private_data);
}

int one_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  OneColumn& one = own(stream);
  one.schema = one.all->schema().children[one.column];
  *out = {};
  out->format = "+s";
  out->n_children = 1;
  out->children = &one.schema;
  out->release = [](ArrowSchema* schema) { schema->release = nullptr; };
  return 0;
}

int one_batch(ArrowArrayStream* stream, ArrowArray* out) {
  OneColumn& one = own(stream);
  *out = {};
  if (one.next == one.all->batches().size()) return 0;
  const ArrowArray& batch = one.all->batches()[one.next++];
  one.cells = *batch.children[one.column];
  one.cells.offset += batch.offset;  // a slice of a table shares the columns' memory
  one.cells.length = batch.length;
  one.children[0] = &one.cells;
  out->length = batch.length;
  out->n_children = 1;
  out->children = one.children;
  out->release = [](ArrowArray* array) { array->release = nullptr; };
  return 0;
}

const char* no_error(ArrowArrayStream* /*stream*/) { return nullptr; }

void end_column(ArrowArrayStream* stream) {
  delete &own(stream);
  stream->release = nullptr;
}

ArrowArrayStream column_stream(std::shared_ptr<const ArrowBatches> all,
                               std::int64_t column) {
  auto one = std::make_unique<OneColumn>();
  one->all = std::move(all);
  one->column = column;
  return {one_schema, one_batch, no_error, end_column, one.release()};
}

class ArrowRows final : public RowSource {
 public:
  ArrowRows(std::shared_ptr<const ArrowBatches> batches, const CsvOptions& options,
            const Exec& exec)
      : all_(std::move(batches)), exec_(exec), missing_(options.missing) {
    const ArrowSchema& schema = all_->schema();
    for (std::int64_t c = 0; c < schema.n_children; ++c) {
      const ArrowSchema& child = *schema.children[c];
      names_.emplace_back(child.name);
      const auto& keep = options.keep;
      if (!keep.empty() && std::find(keep.begin(), keep.end(), names_.back()) == keep.end())
        continue;
      kept_.push_back(names_.back());
      positions_.push_back(c);
      known_.push_back(std::make_unique<KnownLevels>());
      columns_.push_back(open_column(kept_.size() - 1));
      const ColumnKind found = columns_.back()->kind(child.format);
      const auto type = options.types.find(names_.back());
      kinds_.push_back(type == options.types.end() ? found : type->second);
    }
  }

  bool next(Table& block, Index rows) override {
    begin_block(block, all_->source(), kept_, kinds_);
    const Index count = std::min(rows, all_->rows() - row_);
    exec_.for_each(std::ssize(kept_), [&](Index i) {
      Column& column = block.columns[to_size(i)];
      static_cast<void>(columns_[to_size(i)]->read(column, count));
      add_levels(column, known_[to_size(i)]->levels);
    });
    block.line.append(row_ + 1, count);
    block.line.count_rows();
    row_ += count;
    return count > 0;
  }

  void rewind() override {
    row_ = 0;
    for (std::size_t c = 0; c < kept_.size(); ++c) columns_[c] = open_column(c);
  }

  [[nodiscard]] const std::vector<std::string>& names() const override { return names_; }
  [[nodiscard]] double share() const override {
    return static_cast<double>(row_) / static_cast<double>(all_->rows());
  }

 private:
  std::unique_ptr<ArrowColumn> open_column(std::size_t c) {
    return std::make_unique<ArrowColumn>(column_stream(all_, positions_[c]), all_->source(),
                                         kept_[c], *known_[c], missing_);
  }

  std::shared_ptr<const ArrowBatches> all_;
  Exec exec_;
  MissingTexts missing_;
  std::vector<std::string> names_, kept_;
  std::vector<std::int64_t> positions_;
  std::vector<ColumnKind> kinds_;
  std::vector<std::unique_ptr<KnownLevels>> known_;
  std::vector<std::unique_ptr<ArrowColumn>> columns_;
  Index row_ = 0;
};

}  // namespace

std::unique_ptr<RowSource> open_arrow_rows(std::shared_ptr<const ArrowBatches> batches,
                                           const CsvOptions& options, const Exec& exec) {
  return std::make_unique<ArrowRows>(std::move(batches), options, exec);
}

}  // namespace fmd::internal
