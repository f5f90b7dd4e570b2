#pragma once

#include <functional>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "fmd/core/types.h"

namespace fmd {

// The fields of an options struct, listed once: receipts, flags and other languages take
// names, defaults, ranges and help from the list. A list points into the struct that it was
// made from.

// A field that is written as a text: an enum, a limit, a scale.
struct TextField {
  std::function<std::string()> get;
  std::function<void(const std::string&)> set;  // throws Error(bad_option)
};
// A field that is written as several texts.
struct TextsField {
  std::function<std::vector<std::string>()> get;
  std::function<void(const std::vector<std::string>&)> set;  // throws Error(bad_option)
};
using FieldValue = std::variant<bool*, int*, Index*, double*, std::string*,
                                std::vector<std::string>*, TextField, TextsField>;

struct OptionField {
  const char* name;  // the key in JSON
  FieldValue value;
  const char* flag = "";  // "--points"; empty: the command has none
  const char* help = "";
  // What a flag accepts, for numbers; infinite = any.
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool shows_default = true;  // in the flag's help
  bool optional = false;      // JSON may lack it; a text that is empty is null there
};

}  // namespace fmd
