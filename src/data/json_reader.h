#pragma once

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/internal.h"
#include "fmd/core/types.h"
#include "fmd/data/table.h"

namespace fmd::internal {

// Reads an object of a model's metadata field by field. A field that is absent, of another
// type or out of range throws Error(bad_model) that names the source and the field.
class JsonReader {
 public:
  // The text's object. `text` may be hostile: damaged JSON throws, and so does more of it
  // than core/json.h allows.
  [[nodiscard]] static nlohmann::json parse(const std::string& text,
                                            const std::string& source);

  JsonReader(const nlohmann::json& object, std::string source);

  [[nodiscard]] bool has(const char* key) const;  // present and not null
  [[nodiscard]] std::string text(const char* key) const;
  [[nodiscard]] double number(const char* key) const;  // finite
  [[nodiscard]] Index count(const char* key) const;    // 0 .. 2^53
  [[nodiscard]] bool flag(const char* key) const;
  [[nodiscard]] std::vector<std::string> texts(const char* key) const;
  [[nodiscard]] std::vector<double> numbers(const char* key) const;  // finite
  [[nodiscard]] std::vector<std::string> keys() const;
  [[nodiscard]] JsonReader object(const char* key) const;
  [[nodiscard]] std::vector<JsonReader> objects(const char* key) const;
  [[nodiscard]] ColumnKind kind(const char* key) const;
  [[nodiscard]] std::map<std::string, ColumnKind> kinds(const char* key) const;

  [[noreturn]] void fail(const std::string& what) const;

 private:
  [[nodiscard]] const nlohmann::json& at(const char* key) const;
  [[noreturn]] void fail_field(const char* key, const char* needed) const;

  const nlohmann::json* object_;
  std::string source_;
};

[[nodiscard]] const char* kind_text(ColumnKind kind);

// The object as text. Bytes that are not valid UTF-8 (in values that this library did not
// read) are replaced.
[[nodiscard]] std::string json_text(const nlohmann::json& object);

}  // namespace fmd::internal
