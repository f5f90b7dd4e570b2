#pragma once

#include <memory>
#include <span>
#include <string>

#include "fmd/core/types.h"

// The structs of the Arrow C data interface, as its specification gives them.
struct ArrowArray;
struct ArrowArrayStream;
struct ArrowSchema;

namespace fmd {

// All that an Arrow stream gives, kept as it came: no cell is copied. A table of any
// program that speaks Arrow (pandas, polars, DuckDB, Spark) comes in this way.
class ArrowBatches {
 public:
  // Takes the stream over, as a consumer does, and reads it to its end. Throws
  // Error(bad_data: the stream reports an error, or has no rows; a batch that does not fit
  // its schema) and Error(unsupported: not a table).
  ArrowBatches(ArrowArrayStream* stream, std::string source);
  ~ArrowBatches();
  ArrowBatches(const ArrowBatches&) = delete;
  ArrowBatches& operator=(const ArrowBatches&) = delete;

  [[nodiscard]] const std::string& source() const;
  [[nodiscard]] const ArrowSchema& schema() const;
  [[nodiscard]] std::span<const ArrowArray> batches() const;
  [[nodiscard]] Index rows() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fmd
