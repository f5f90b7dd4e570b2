#pragma once

#include <vector>

#include <nlohmann/json.hpp>

#include "core/internal.h"
#include "data/json_reader.h"
#include "fmd/core/fields.h"

namespace fmd::internal {

// The fields as members of an object, in their order.
[[nodiscard]] nlohmann::ordered_json fields_json(const std::vector<OptionField>& fields);

// Sets the fields from an object. Throws Error(bad_model) that names the source and the
// field where it is absent or of another type, and Error(bad_option) for a text that no
// value has.
void read_fields(const JsonReader& object, const std::vector<OptionField>& fields);

}  // namespace fmd::internal
