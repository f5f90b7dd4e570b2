#include "formats/catboost/catboost.h"

#include <cmath>
#include <cstring>
#include <string_view>

#include "core/check.h"
#include "formats/catboost/catboost_binary.h"
#include "formats/catboost/catboost_json.h"

namespace fmd::internal {
namespace {

constexpr std::string_view kBinaryStart = "CBM1";

class CatboostFile final : public ModelFile {
 public:
  explicit CatboostFile(FileSet files) : ModelFile(std::move(files)) {
    const std::string source = path().filename().string();
    binary_ = bytes().size() > 4 && bytes()[0] == 'C';
    CatboostModel read = binary_ ? read_catboost_binary(bytes(), source)
                                 : read_catboost_json(bytes(), source);
    CatboostTrees found = catboost_trees(read, source, bytes().size());
    details_ = std::move(found.details);
    leaves_ = found.trees.leaves;
    model_ = tree_model(std::move(found.trees), source);
    model_.task.classes = std::move(read.classes);
  }
  [[nodiscard]] const Model& model() const override { return model_; }
  [[nodiscard]] std::string format() const override {
    return binary_ ? "CatBoost binary" : "CatBoost JSON";
  }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> details() const override {
    return details_;
  }
  [[nodiscard]] Patch patch(const Model& changed) const override {
    Patch patch;
    for (const LeafChange& change : leaf_changes(leaves_, model_.theta, changed.theta)) {
      const LeafPlace& place = leaves_[change.leaf];
      if (!std::isfinite(change.value))
        throw Error(ErrorKind::numerical, "the value of a leaf is too large for the file",
                    "nothing was written: try another method or candidate");
      patch.ranges.push_back({"", static_cast<Index>(place.begin),
                              static_cast<Index>(place.end - place.begin),
                              bytes_of(change.value)});
    }
    return patch;
  }

 private:
  [[nodiscard]] Bytes bytes_of(double value) const {
    if (!binary_) {
      const std::string text = fmt::format("{:.17g}", value);
      return {text.begin(), text.end()};
    }
    Bytes raw(sizeof(value));
    std::memcpy(raw.data(), &value, sizeof(value));
    return raw;
  }

  bool binary_ = false;
  std::vector<LeafPlace> leaves_;
  std::vector<std::pair<std::string, std::string>> details_;
  Model model_;
};

// The first key of the text is one of CatBoost's, or two that belong together are near.
bool is_catboost_json(std::string_view text) {
  const std::size_t brace = text.find_first_not_of(" \t\r\n");
  if (brace == text.npos || text[brace] != '{') return false;
  const std::size_t quote = text.find_first_not_of(" \t\r\n", brace + 1);
  if (quote == text.npos || text[quote] != '"') return false;
  const std::string_view rest = text.substr(quote + 1);
  for (const std::string_view key :
       {"ctr_data", "features_info", "oblivious_trees", "scale_and_bias"})
    if (rest.starts_with(key) && rest.substr(key.size()).starts_with('"')) return true;
  return text.find("\"oblivious_trees\"") != text.npos ||
         text.find("\"catboost_version_info\"") != text.npos;
}

}  // namespace

ModelFormat catboost_format() {
  return {"catboost",
          [](const std::filesystem::path&, std::span<const std::uint8_t> first) {
            const std::string_view text(reinterpret_cast<const char*>(first.data()),
                                        first.size());
            return text.starts_with(kBinaryStart) || is_catboost_json(text);
          },
          [](FileSet files) -> std::unique_ptr<ModelFile> {
            return std::make_unique<CatboostFile>(std::move(files));
          }};
}

}  // namespace fmd::internal
