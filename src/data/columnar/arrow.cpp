#include "fmd/data/arrow.h"

#include <set>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/internal.h"
#include "data/columnar/arrow_abi.h"
#include "data/words.h"
#include "fmd/core/error.h"

namespace fmd {

struct ArrowBatches::State {
  std::string source;
  ArrowSchema schema = {};
  std::vector<ArrowArray> batches;
  Index rows = 0;

  ~State() {
    for (ArrowArray& batch : batches)
      if (batch.release != nullptr) batch.release(&batch);
    if (schema.release != nullptr) schema.release(&schema);
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorKind::bad_data, fmt::format("{}: {}", source, what),
                "give a stream of record batches that fit its schema");
  }

  [[noreturn]] void fail(ArrowArrayStream& stream) const {
    const char* reason = stream.get_last_error(&stream);
    fail(fmt::format("the Arrow stream reports: {}",
                     reason == nullptr ? "an error" : shorten(reason)));
  }

  void check_schema() const {
    if (schema.format == nullptr || std::string_view(schema.format) != "+s") {
      throw Error(
          ErrorKind::unsupported,
          fmt::format("{}: the Arrow stream is no table: its type is \"{}\"", source,
                      schema.format == nullptr ? "" : shorten(schema.format)),
          "give a stream of record batches, one column for each field");
    }
    std::set<std::string> seen;
    for (std::int64_t c = 0; c < schema.n_children; ++c) {
      const char* name = schema.children[c]->name;
      if (name == nullptr || *name == 0 || !seen.insert(name).second)
        fail(fmt::format("column {} has no name, or the name of another column", c + 1));
    }
  }

  void check(const ArrowArray& batch) const {
    bool fits = batch.length >= 0 && batch.offset >= 0 &&
                batch.n_children == schema.n_children && batch.null_count <= 0;
    for (std::int64_t c = 0; fits && c < batch.n_children; ++c)
      fits = batch.children[c] != nullptr && batch.children[c]->offset >= 0 &&
             batch.children[c]->length >= batch.offset + batch.length;
    if (!fits) fail(fmt::format("batch {} does not fit the schema", batches.size() + 1));
  }

  void read(ArrowArrayStream& stream) {
    if (stream.get_schema(&stream, &schema) != 0) {
      schema = {};
      fail(stream);
    }
    check_schema();
    for (;;) {
      ArrowArray batch = {};
      if (stream.get_next(&stream, &batch) != 0) fail(stream);
      if (batch.release == nullptr) break;
      batches.push_back(batch);
      check(batch);
      rows += batch.length;
    }
    if (rows == 0) fail("there are no rows");
  }
};

ArrowBatches::ArrowBatches(ArrowArrayStream* stream, std::string source)
    : state_(std::make_unique<State>()) {
  struct Owner {
    ArrowArrayStream stream;
    ~Owner() { stream.release(&stream); }
  };
  state_->source = std::move(source);
  if (stream == nullptr || stream->release == nullptr)
    state_->fail("the Arrow stream has been released");
  Owner owner{*stream};
  stream->release = nullptr;  // moved, as the interface says
  state_->read(owner.stream);
}

ArrowBatches::~ArrowBatches() = default;

const std::string& ArrowBatches::source() const { return state_->source; }
const ArrowSchema& ArrowBatches::schema() const { return state_->schema; }
std::span<const ArrowArray> ArrowBatches::batches() const { return state_->batches; }
Index ArrowBatches::rows() const { return state_->rows; }

}  // namespace fmd
