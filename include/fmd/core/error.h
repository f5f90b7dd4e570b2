#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace fmd {

// What went wrong, by meaning. The order is frozen: the command exits with 2 for bad_option
// and with 10 + the number for every other kind. docs/errors.md lists the cause and the
// remedy of each id.
enum class ErrorKind {
  bad_option,        // 2   a flag or option has a value that is not allowed
  cannot_read,       // 11  a file is absent, a folder, or not readable
  cannot_write,      // 12  the folder is missing, read-only or full
  output_exists,     // 13  OUT exists already, or is the input itself
  bad_csv,           // 14  a table's text is damaged: ragged row, open quote, NUL, UTF-16
  bad_value,         // 15  a cell cannot be used: not a number, not finite, missing label
  missing_column,    // 16  a column that the task or the model needs is not in the table
  unknown_category,  // 17  a category that the encoder has never seen
  bad_data,          // 18  the rows cannot answer: one class only, an empty group, no rows
  bad_task,          // 19  task.toml or the model's task is damaged or contradicts itself
  bad_model,         // 20  a model file is truncated, hostile or not one of ours
  wrong_model,       // 21  model and data (or receipt and file) do not belong together
  bad_shape,         // 22  sizes disagree: pairs, tensors, parameters
  attribute_not_read,  // 23  a flip of an attribute that the model does not read
  missing_dataset,     // 24  a named data set is not on this machine
  wrong_checksum,      // 25  a file's SHA-256 is not the one that is on record
  unsupported,         // 26  this build or this kind of model cannot do it
  numerical,           // 27  a factorisation broke down although it should not
};

// Stable name, e.g. "missing-column".
[[nodiscard]] std::string_view id(ErrorKind kind);

// Exit code of the command for this kind.
[[nodiscard]] int exit_code(ErrorKind kind);

// Thrown on wrong use and bad input. The message says where, what came and what is needed.
// The hint is an action. Numerical outcomes (no convergence) are summaries, not
// exceptions.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message, std::string hint = "")
      : std::runtime_error(message), kind_(kind), hint_(std::move(hint)) {}

  [[nodiscard]] ErrorKind kind() const { return kind_; }
  [[nodiscard]] const std::string& hint() const { return hint_; }

 private:
  ErrorKind kind_;
  std::string hint_;
};

}  // namespace fmd
