#include "fmd/core/error.h"

#include <array>

namespace fmd {
namespace {

constexpr std::array<std::string_view, 18> kIds = {
    "bad-option",  "cannot-read",        "cannot-write",    "output-exists",
    "bad-csv",     "bad-value",          "missing-column",  "unknown-category",
    "bad-data",    "bad-task",           "bad-model",       "wrong-model",
    "bad-shape",   "attribute-not-read", "missing-dataset", "wrong-checksum",
    "unsupported", "numerical"};

}  // namespace

std::string_view id(ErrorKind kind) { return kIds.at(static_cast<std::size_t>(kind)); }

int exit_code(ErrorKind kind) {
  return kind == ErrorKind::bad_option ? 2 : 10 + static_cast<int>(kind);
}

}  // namespace fmd
