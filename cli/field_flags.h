#pragma once

#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "fmd/core/fields.h"

namespace fmd::cli {

// The flags of an options struct, from its list of fields. Texts are kept as they were
// given and become values in apply(), where a wrong one is an error like any other. The
// struct must stay in place.
class FieldFlags {
 public:
  explicit FieldFlags(std::vector<OptionField> fields) : fields_(std::move(fields)) {}

  // Adds the flag of a field.
  CLI::Option* add(CLI::App& command, const std::string& name);
  // Sets the fields whose flags have a text. Throws Error(bad_option).
  void apply() const;

 private:
  struct Given {
    const OptionField* field = nullptr;
    CLI::Option* option = nullptr;
    std::string text;
    std::vector<std::string> texts;
  };
  std::vector<OptionField> fields_;
  std::map<std::string, Given> given_;  // by name; entries stay in place
};

}  // namespace fmd::cli
