#pragma once

#include <cmath>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "data/columnar/arrow_abi.h"
#include "fmd/data/table.h"

namespace fmd::test {

// A table as an Arrow stream, as another program would hand it over: numbers as float64,
// texts as utf8, missing cells as nulls, `batch` rows at a time.
class ArrowTable {
 public:
  ArrowTable(const Table& table, Index batch) : batch_(batch), rows_(table.rows()) {
    for (const Column& column : table.columns) {
      Owned& own = columns_.emplace_back();
      own.name = column.name;
      own.number = column.kind == ColumnKind::number;
      own.valid.assign(static_cast<std::size_t>(rows_) / 8 + 1, 0);
      own.offsets = {0};
      for (Index row = 0; row < rows_; ++row) {
        const auto i = static_cast<std::size_t>(row);
        const bool has = own.number ? !std::isnan(column.numbers[i]) : column.codes[i] >= 0;
        if (has) own.valid[i / 8] |= static_cast<std::uint8_t>(1u << (i % 8));
        if (own.number) own.numbers.push_back(has ? column.numbers[i] : 0);
        if (!own.number) own.text += column.text(row);
        own.offsets.push_back(static_cast<std::int32_t>(own.text.size()));
      }
      own.schema.format = own.number ? "g" : "u";
      own.schema.name = own.name.c_str();
      schemas_.push_back(&own.schema);
      children_.push_back(&own.array);
    }
  }

  // The stream. This must outlive what reads it. `format` and `error`: to make a bad one.
  ArrowArrayStream stream(const char* format = "+s", bool error = false) {
    format_ = format;
    error_ = error;
    next_ = 0;
    return {[](ArrowArrayStream* s, ArrowSchema* out) { return own(s).schema(out); },
            [](ArrowArrayStream* s, ArrowArray* out) { return own(s).next(out); },
            [](ArrowArrayStream*) { return "the disk is gone"; },
            [](ArrowArrayStream* s) {
              ++own(s).released;
              s->release = nullptr;
            },
            this};
  }

  int released = 0;  // streams
  int held = 0;      // batches that nobody released yet

 private:
  struct Owned {
    std::string name, text;
    bool number = true;
    std::vector<std::uint8_t> valid;
    std::vector<double> numbers;
    std::vector<std::int32_t> offsets;
    const void* buffers[3] = {};
    ArrowSchema schema = {};
    ArrowArray array = {};
  };

  static ArrowTable& own(ArrowArrayStream* s) {
    return *static_cast<ArrowTable*>(s->private_data);
  }
  int schema(ArrowSchema* out) {
    *out = {};
    out->format = format_;
    out->n_children = static_cast<std::int64_t>(schemas_.size());
    out->children = schemas_.data();
    out->release = [](ArrowSchema* schema) { schema->release = nullptr; };
    return 0;
  }
  // A batch is a slice: its offset is where it begins in the columns.
  int next(ArrowArray* out) {
    *out = {};
    if (error_ && next_ > 0) return 5;
    if (next_ >= rows_) return 0;
    for (Owned& own : columns_) {
      own.buffers[0] = own.valid.data();
      own.buffers[1] = own.number ? static_cast<const void*>(own.numbers.data())
                                  : static_cast<const void*>(own.offsets.data());
      own.buffers[2] = own.text.data();
      own.array.length = rows_;
      own.array.null_count = -1;
      own.array.n_buffers = own.number ? 2 : 3;
      own.array.buffers = own.buffers;
    }
    out->length = std::min(batch_, rows_ - next_);
    out->offset = next_;
    out->n_children = static_cast<std::int64_t>(children_.size());
    out->children = children_.data();
    out->private_data = this;
    out->release = [](ArrowArray* array) {
      --static_cast<ArrowTable*>(array->private_data)->held;
      array->release = nullptr;
    };
    ++held;
    next_ += out->length;
    return 0;
  }

  Index batch_, rows_, next_ = 0;
  const char* format_ = "+s";
  bool error_ = false;
  std::list<Owned> columns_;
  std::vector<ArrowSchema*> schemas_;
  std::vector<ArrowArray*> children_;
};

}  // namespace fmd::test
