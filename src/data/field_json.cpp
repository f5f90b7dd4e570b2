#include "data/field_json.h"

#include <algorithm>

namespace fmd::internal {
namespace {

using Json = nlohmann::ordered_json;

struct ToJson {
  bool optional;

  Json operator()(const TextField& field) const {
    const std::string text = field.get();
    return optional && text.empty() ? Json(nullptr) : Json(text);
  }
  Json operator()(const TextsField& field) const { return field.get(); }
  Json operator()(const std::string* value) const {
    return optional && value->empty() ? Json(nullptr) : Json(*value);
  }
  template <typename T>
  Json operator()(const T* value) const {
    return *value;
  }
};

struct FromJson {
  const JsonReader& in;
  const char* name;

  void operator()(bool* value) const { *value = in.flag(name); }
  void operator()(Index* value) const { *value = in.count(name); }
  void operator()(int* value) const {
    *value = static_cast<int>(std::min<Index>(in.count(name), 1 << 30));
  }
  void operator()(double* value) const { *value = in.number(name); }
  void operator()(std::string* value) const { *value = in.text(name); }
  void operator()(std::vector<std::string>* value) const { *value = in.texts(name); }
  void operator()(const TextField& field) const { field.set(in.text(name)); }
  void operator()(const TextsField& field) const { field.set(in.texts(name)); }
};

}  // namespace

Json fields_json(const std::vector<OptionField>& fields) {
  Json json = Json::object();
  for (const OptionField& field : fields)
    json[field.name] = std::visit(ToJson{field.optional}, field.value);
  return json;
}

void read_fields(const JsonReader& object, const std::vector<OptionField>& fields) {
  for (const OptionField& field : fields) {
    if (field.optional && !object.has(field.name)) continue;
    std::visit(FromJson{object, field.name}, field.value);
  }
}

}  // namespace fmd::internal
