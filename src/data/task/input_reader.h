#pragma once

#include <vector>

#include <nlohmann/json.hpp>

#include "core/internal.h"
#include "data/json_reader.h"
#include "data/task/toml_reader.h"
#include "fmd/data/input_spec.h"

namespace fmd::internal {

// [[inputs]] of a task.toml. Throws Error(bad_task) with file, line and key.
[[nodiscard]] std::vector<InputSpec> read_inputs(const TomlReader& reader,
                                                 const toml::node& node);

// The same as JSON, for receipts, and back. Throws Error(bad_model).
[[nodiscard]] nlohmann::json to_object(const InputSpec& spec);
[[nodiscard]] InputSpec read_input_spec(const JsonReader& object);

// Why the parts of a spec contradict each other; empty = they do not.
[[nodiscard]] std::string input_contradiction(const InputSpec& spec);

}  // namespace fmd::internal
