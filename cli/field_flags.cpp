#include "cli/field_flags.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace fmd::cli {
namespace {

// Whole numbers are shown without a point.
template <typename T>
void check_range(CLI::Option& option, const OptionField& field) {
  if (std::isfinite(field.least) && std::isfinite(field.most))
    option.check(CLI::Range(static_cast<T>(field.least), static_cast<T>(field.most)));
  else if (field.least == 0)
    option.check(CLI::NonNegativeNumber);
}

}  // namespace

CLI::Option* FieldFlags::add(CLI::App& command, const std::string& name) {
  const auto field = std::find_if(fields_.begin(), fields_.end(),
                                  [&](const OptionField& one) { return name == one.name; });
  assert(field != fields_.end());
  Given& given = given_[name];
  given.field = &*field;
  const auto add_option = [&](auto& into) {
    CLI::Option* option = command.add_option(field->flag, into, field->help);
    if (field->shows_default) option->capture_default_str();
    return option;
  };
  if (bool* const* value = std::get_if<bool*>(&field->value)) {
    given.option = command.add_flag(field->flag, **value, field->help);
  } else if (int* const* whole = std::get_if<int*>(&field->value)) {
    given.option = add_option(**whole);
    check_range<int>(*given.option, *field);
  } else if (Index* const* count = std::get_if<Index*>(&field->value)) {
    given.option = add_option(**count);
    check_range<Index>(*given.option, *field);
  } else if (double* const* number = std::get_if<double*>(&field->value)) {
    given.option = add_option(**number);
    check_range<double>(*given.option, *field);
  } else if (std::string* const* text = std::get_if<std::string*>(&field->value)) {
    given.option = add_option(**text);
  } else if (const TextField* own = std::get_if<TextField>(&field->value)) {
    given.text = own->get();
    given.option = add_option(given.text);
  } else {
    if (auto* const* list = std::get_if<std::vector<std::string>*>(&field->value))
      given.texts = **list;
    given.option = add_option(given.texts)->allow_extra_args(false);
  }
  return given.option;
}

void FieldFlags::apply() const {
  for (const OptionField& field : fields_) {
    const auto found = given_.find(field.name);
    if (found == given_.end() || found->second.option->count() == 0) continue;
    const Given& given = found->second;
    if (const TextField* text = std::get_if<TextField>(&field.value)) text->set(given.text);
    if (const TextsField* texts = std::get_if<TextsField>(&field.value))
      texts->set(given.texts);
    if (auto* const* list = std::get_if<std::vector<std::string>*>(&field.value))
      **list = given.texts;
  }
}

}  // namespace fmd::cli
