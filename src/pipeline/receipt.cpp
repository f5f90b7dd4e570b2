#include "pipeline/receipt.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "fmd/core/error.h"

namespace fmd {
namespace {

[[noreturn]] void no_receipt(const std::string& source) {
  throw Error(ErrorKind::bad_model, fmt::format("{}: this is no fmd receipt", source),
              "name the receipt that `fmd debias` wrote");
}

std::string hash_text(const nlohmann::json& model, const char* key,
                      const std::string& source) {
  const auto found = model.find(key);
  if (found == model.end() || !found->is_string()) no_receipt(source);
  return found->get<std::string>();
}

}  // namespace

ReceiptHashes parse_receipt(std::string_view text, const std::string& source) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) no_receipt(source);
  const auto model = json.find("model");
  if (model == json.end() || !model->is_object()) no_receipt(source);
  return {.before = hash_text(*model, "sha256_before", source),
          .after = hash_text(*model, "sha256_after", source)};
}

}  // namespace fmd
