#include "formats/catboost/catboost_json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/index.h"
#include "data/words.h"
#include "formats/document.h"

namespace fmd::internal {
namespace {

using JsonKind = DocumentValue::Kind;

class CatboostJson {
 public:
  CatboostJson(std::span<const std::uint8_t> bytes, const std::string& source)
      : file_(bytes, source) {}

  CatboostModel run() {
    read_trees();
    read_information();
    read_scale();
    const DocumentValue& features = file_.at(file_.root(), "features_info", "");
    for (const char* key : {"text_features", "embedding_features", "estimated_features"})
      if (const DocumentValue* found = Document::find(features, key);
          found != nullptr && (found->count > 0 || !found->items.empty()))
        made_.derived = true;
    for (const DocumentValue& one : objects(features, "float_features", kFeatures))
      read_number(one);
    for (const DocumentValue& one : objects(features, "categorical_features", kFeatures))
      read_category(one);
    for (const DocumentValue& one : objects(features, "ctrs", kFeatures)) read_ctr(one);
    return std::move(made_);
  }

 private:
  static inline const std::string kFeatures = "features_info";

  // The items of a list of objects; none where it is absent, null or empty.
  const std::vector<DocumentValue>& objects(const DocumentValue& object,
                                            std::string_view key,
                                            const std::string& where) const {
    static const std::vector<DocumentValue> none;
    const DocumentValue* found = Document::find(object, key);
    if (found == nullptr || found->kind == JsonKind::null) return none;
    const std::vector<DocumentValue>& items = file_.list(object, key, where);
    for (const DocumentValue& item : items)
      if (item.kind != JsonKind::object)
        file_.fail(where, fmt::format("{} must be a list of objects", key));
    return items;
  }

  [[nodiscard]] double number(const DocumentValue& object, std::string_view key,
                              const std::string& where) const {
    const DocumentValue& value = file_.at(object, key, where);
    if (value.kind != JsonKind::number)
      file_.fail(where, fmt::format("{} must be a number", key));
    return value.number;
  }

  [[nodiscard]] std::int32_t whole(double value, std::string_view key,
                                   const std::string& where) const {
    if (!(std::abs(value) <= 2147483648.0) || value != std::floor(value) ||
        value == 2147483648.0)
      file_.fail(where,
                 fmt::format("{} is {}, must be a whole number of 32 bits", key, value));
    return static_cast<std::int32_t>(value);
  }
  [[nodiscard]] std::int32_t index(const DocumentValue& object, std::string_view key,
                                   const std::string& where) const {
    return whole(number(object, key, where), key, where);
  }

  [[nodiscard]] std::vector<float> floats(const DocumentValue& object, std::string_view key,
                                          const std::string& where) const {
    std::vector<float> all;
    const DocumentValue* found = Document::find(object, key);
    if (found == nullptr || found->kind == JsonKind::null) return all;
    for (const double value : file_.numbers(object, key, where))
      all.push_back(static_cast<float>(value));
    return all;
  }

  void read_column(const DocumentValue& object, const std::string& where,
                   CatboostColumn& into) const {
    into.index = index(object, "feature_index", where);
    into.flat = index(object, "flat_feature_index", where);
    for (const char* key : {"feature_id", "feature_name"})
      if (into.name.empty() && Document::find(object, key) != nullptr)
        into.name = file_.text(object, key, where);
  }

  void read_number(const DocumentValue& object) {
    const std::string where = "float_features";
    CatboostNumber& column = made_.numbers.emplace_back();
    read_column(object, where, column);
    column.borders = floats(object, "borders", where);
    const DocumentValue* missing = Document::find(object, "nan_value_treatment");
    column.missing_above = missing != nullptr && missing->text == "AsTrue";
    if (missing != nullptr && missing->text != "AsTrue" && missing->text != "AsFalse" &&
        missing->text != "AsIs")
      file_.fail(where, "nan_value_treatment is not known");
  }

  void read_category(const DocumentValue& object) {
    const std::string where = "categorical_features";
    CatboostColumn& column = made_.categories.emplace_back();
    read_column(object, where, column);
    const DocumentValue* values = Document::find(object, "values");
    if (values == nullptr || values->kind == JsonKind::null) return;
    CatboostOneHot& one_hot = made_.one_hot.emplace_back();
    one_hot.category = column.index;
    for (const double value : file_.numbers(object, "values", where))
      one_hot.hashes.push_back(whole(value, "values", where));
  }

  void read_ctr(const DocumentValue& object) {
    const std::string where = "ctrs";
    CatboostCtr& ctr = made_.ctrs.emplace_back();
    ctr.base.kind = ctr_kind(file_.text(object, "ctr_type", where));
    for (const DocumentValue& part : objects(object, "elements", where)) {
      const std::string& kind = file_.text(part, "combination_element", where);
      if (kind == "cat_feature_value")
        ctr.base.categories.push_back(index(part, "cat_feature_index", where));
      else if (kind == "float_feature")
        ctr.base.above.emplace_back(index(part, "float_feature_index", where),
                                    static_cast<float>(number(part, "border", where)));
      else if (kind == "cat_feature_exact_value")
        ctr.base.equal.emplace_back(index(part, "cat_feature_index", where),
                                    index(part, "value", where));
      else
        file_.fail(where,
                   fmt::format("combination_element {} is not known", shorten(kind)));
    }
    ctr.border = index(object, "target_border_idx", where);
    ctr.prior = static_cast<float>(number(object, "prior_numerator", where));
    ctr.prior_weight = static_cast<float>(number(object, "prior_denomerator", where));
    ctr.shift = static_cast<float>(number(object, "shift", where));
    ctr.scale = static_cast<float>(number(object, "scale", where));
    ctr.borders = floats(object, "borders", where);
    if (!made_.tables.contains(ctr.base))
      made_.tables.emplace(ctr.base, read_table(file_.text(object, "identifier", where)));
  }

  [[nodiscard]] CatboostCtrKind ctr_kind(const std::string& name) const {
    constexpr std::pair<const char*, CatboostCtrKind> kKinds[] = {
        {"Borders", CatboostCtrKind::borders},
        {"Buckets", CatboostCtrKind::buckets},
        {"BinarizedTargetMeanValue", CatboostCtrKind::binary_mean},
        {"FloatTargetMeanValue", CatboostCtrKind::float_mean},
        {"Counter", CatboostCtrKind::counter},
        {"FeatureFreq", CatboostCtrKind::frequency}};
    for (const auto& [known, kind] : kKinds)
      if (name == known) return kind;
    file_.fail("ctrs", fmt::format("ctr_type {} is not known", shorten(name)));
  }

  [[nodiscard]] CatboostTable read_table(const std::string& name) const {
    const std::string where = "ctr_data";
    const DocumentValue& object = file_.at(file_.at(file_.root(), where, ""), name, where);
    CatboostTable table;
    table.denominator = index(object, "counter_denominator", where);
    const std::int32_t stride = index(object, "hash_stride", where);
    const std::vector<DocumentValue>& entries = file_.list(object, "hash_map", where);
    if (stride < 2 || entries.size() % at(stride) != 0)
      file_.fail(where, fmt::format("hash_map has {} entries, hash_stride is {}",
                                    entries.size(), stride));
    table.stride = at(stride) - 1;
    for (std::size_t i = 0; i < entries.size(); i += at(stride)) {
      std::uint64_t key = 0;
      const std::string& text = entries[i].text;
      const auto [end, error] =
          std::from_chars(text.data(), text.data() + text.size(), key);
      if (text.empty() || error != std::errc() || end != text.data() + text.size())
        file_.fail(where, "a key of hash_map is not a number of 64 bits");
      // An entry that stands for no category.
      if (key == std::numeric_limits<std::uint64_t>::max()) continue;
      table.keys.emplace_back(key, table.counts.size());
      for (std::size_t k = 1; k < at(stride); ++k) {
        if (entries[i + k].kind != JsonKind::number)
          file_.fail(where, "a count of hash_map is not a number");
        table.counts.push_back(entries[i + k].number);
      }
    }
    std::sort(table.keys.begin(), table.keys.end());
    return table;
  }

  void read_information() {
    const DocumentValue* information = Document::find(file_.root(), "model_info");
    if (information == nullptr || information->kind != JsonKind::object) return;
    const auto text_of = [&](const char* key) -> std::string {
      const DocumentValue* found = Document::find(*information, key);
      if (found == nullptr) return "";
      if (found->kind == JsonKind::text) return found->text;
      const auto bytes = file_.bytes().subspan(found->begin, found->end - found->begin);
      return {bytes.begin(), bytes.end()};
    };
    read_catboost_parameters(text_of("params"), text_of("class_params"), file_.source(),
                             made_);
  }

  void read_scale() {
    const std::string where = "scale_and_bias";
    made_.bias.assign(at(made_.outputs), 0);
    const DocumentValue* both = Document::find(file_.root(), where);
    if (both == nullptr) return;
    std::vector<double> bias;
    if (both->kind == JsonKind::numbers && both->count == 2) {
      const std::vector<double> two = file_.numbers(file_.root(), where, "");
      made_.scale = two[0];
      bias = {two[1]};
    } else if (both->kind == JsonKind::list && both->items.size() == 2 &&
               both->items[0].kind == JsonKind::number &&
               both->items[1].kind == JsonKind::numbers) {
      made_.scale = both->items[0].number;
      file_.each(both->items[1],
                 [&](double x, std::size_t, std::size_t) { bias.push_back(x); });
    } else {
      file_.fail(where, "must be a number and a list of numbers");
    }
    if (bias.empty()) return;
    if (std::ssize(bias) != made_.outputs)
      file_.fail(where,
                 fmt::format("has {} numbers for {} outputs", bias.size(), made_.outputs));
    made_.bias = std::move(bias);
  }

  void read_trees() {
    const bool symmetric = Document::find(file_.root(), "oblivious_trees") != nullptr;
    if (!symmetric && Document::find(file_.root(), "trees") == nullptr)
      file_.fail("", "\"oblivious_trees\" is missing");
    const auto& trees = objects(file_.root(), symmetric ? "oblivious_trees" : "trees", "");
    for (std::size_t t = 0; t < trees.size(); ++t) {
      const std::string where = fmt::format("tree {}", t);
      if (symmetric)
        read_symmetric(trees[t], where);
      else
        read_nested(trees[t], where);
    }
  }

  void set_outputs(std::size_t outputs, const std::string& where) {
    if (made_.values.empty()) made_.outputs = static_cast<Index>(outputs);
    if (outputs == 0 || static_cast<Index>(outputs) != made_.outputs)
      file_.fail(where, fmt::format("its leaves have {} values, those of others {}",
                                    outputs, made_.outputs));
  }

  void add_values(const DocumentValue& numbers) {
    const auto add = [&](double x, std::size_t begin, std::size_t end) {
      made_.values.push_back(x);
      made_.places.push_back({begin, end});
    };
    if (numbers.kind == JsonKind::number)
      add(numbers.number, numbers.begin, numbers.end);
    else
      file_.each(numbers, add);
  }

  void read_symmetric(const DocumentValue& object, const std::string& where) {
    CatboostTree tree;
    for (const DocumentValue& split : objects(object, "splits", where))
      tree.splits.push_back(index(split, "split_index", where));
    const DocumentValue& values = file_.at(object, "leaf_values", where);
    if (values.kind != JsonKind::numbers)
      file_.fail(where, "leaf_values must be a list of numbers");
    const std::size_t levels = tree.splits.size();
    const std::size_t leaves = levels < 31 ? std::size_t{1} << levels : 0;
    if (leaves == 0 || values.count == 0 || at(values.count) % leaves != 0)
      file_.fail(where, fmt::format("leaf_values has {} numbers for {} splits",
                                    values.count, levels));
    set_outputs(at(values.count) / leaves, where);
    for (std::size_t leaf = 0; leaf < leaves; ++leaf)
      tree.first.push_back(made_.values.size() + leaf * at(made_.outputs));
    add_values(values);
    made_.trees.push_back(std::move(tree));
  }

  void read_nested(const DocumentValue& object, const std::string& where) {
    CatboostTree tree;
    tree.symmetric = false;
    read_node(object, where, tree);
    made_.trees.push_back(std::move(tree));
  }

  // The parser has bounded how deep objects are nested.
  std::int32_t read_node(const DocumentValue& object, const std::string& where,
                         CatboostTree& tree) {
    if (object.kind != JsonKind::object) file_.fail(where, "a node must be an object");
    if (const DocumentValue* value = Document::find(object, "value")) {
      if (value->kind != JsonKind::number && value->kind != JsonKind::numbers)
        file_.fail(where, "the value of a leaf must be numbers");
      set_outputs(value->kind == JsonKind::number ? 1 : at(value->count), where);
      tree.first.push_back(made_.values.size());
      add_values(*value);
      return -static_cast<std::int32_t>(tree.first.size());
    }
    const auto own = static_cast<std::int32_t>(tree.nodes.size());
    const DocumentValue& split = file_.at(object, "split", where);
    tree.nodes.push_back({.split = index(split, "split_index", where)});
    const std::int32_t left = read_node(file_.at(object, "left", where), where, tree);
    const std::int32_t right = read_node(file_.at(object, "right", where), where, tree);
    tree.nodes[at(own)].left = left;
    tree.nodes[at(own)].right = right;
    return own;
  }

  Document file_;
  CatboostModel made_;
};

}  // namespace

CatboostModel read_catboost_json(std::span<const std::uint8_t> bytes,
                                 const std::string& source) {
  return CatboostJson(bytes, source).run();
}

}  // namespace fmd::internal
