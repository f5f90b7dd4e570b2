#include "formats/catboost/catboost_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "core/check.h"
#include "core/index.h"
#include "core/json.h"
#include "data/words.h"
#include "model/trees/city_hash.h"

namespace fmd::internal {
namespace {

const std::string kCatboostScores =
    "score the data with CatBoost and give the scores: fmd audit --scores FILE";
constexpr std::size_t kMostOneHot = 1024;  // values of a column; CatBoost takes 255

// What an empty cell of a table may have been in training.
constexpr const char* kMissingTexts[] = {"",     "?",    "nan",     "NaN",    "NA",
                                         "None", "<NA>", "missing", "Missing"};

[[noreturn]] void bad_catboost(const std::string& source, const std::string& what) {
  throw Error(ErrorKind::bad_model, fmt::format("{}: {}", source, what),
              "the file is damaged: save the model again");
}
[[noreturn]] void refuse_catboost(const std::string& source, const std::string& what) {
  throw Error(ErrorKind::unsupported, fmt::format("{}: {}", source, what), kCatboostScores);
}

Link catboost_link(const CatboostModel& model, const std::string& source) {
  const bool binary = model.loss == "Logloss" || model.loss == "CrossEntropy";
  const bool several = model.loss == "MultiClass" || model.loss == "MultiClassOneVsAll";
  if (model.loss.empty())
    refuse_catboost(source, "it does not say which loss it was trained with");
  if (!binary && !several)
    refuse_catboost(
        source, fmt::format("the loss {} gives no probabilities that fmd knows; it reads "
                            "Logloss, CrossEntropy, MultiClass and MultiClassOneVsAll",
                            shorten(model.loss)));
  if (binary != (model.outputs == 1))
    bad_catboost(source, fmt::format("its leaves have {} values with the loss {}",
                                     model.outputs, model.loss));
  if (binary) return Link::sigmoid;
  return model.loss == "MultiClass" ? Link::softmax : Link::one_vs_rest;
}

// Builds the ensemble: columns in the order of the table that the model was trained on,
// then the statistics; the splits in the order in which trees number them.
class CatboostBuilder {
 public:
  CatboostBuilder(const CatboostModel& model, const std::string& source,
                  std::size_t file_size)
      : model_(model), source_(source), left_(16 * file_size + 65536) {}

  CatboostTrees run() {
    made_.trees.link = catboost_link(model_, source_);
    if (model_.derived)
      refuse_catboost(source_, "it has features that are made of texts or embeddings");
    if (model_.trees.empty()) refuse_catboost(source_, "it has no trees");
    ensemble().single = true;
    ensemble().base = model_.bias;
    for (const double base : model_.bias)
      if (!std::isfinite(base)) bad_catboost(source_, "the bias is not finite");
    if (!std::isfinite(model_.scale) || model_.scale == 0)
      bad_catboost(source_, fmt::format("the scale is {}", model_.scale));
    add_columns();
    add_splits();
    choose_missing();
    for (std::size_t t = 0; t < model_.trees.size(); ++t) add_tree(t);
    describe();
    return std::move(made_);
  }

 private:
  TreeEnsemble& ensemble() { return made_.trees.ensemble; }

  void add_columns() {
    struct Place {
      const CatboostColumn* column;
      bool category;
    };
    std::vector<Place> all;
    for (const CatboostNumber& column : model_.numbers) all.push_back({&column, false});
    for (const CatboostColumn& column : model_.categories) all.push_back({&column, true});
    std::stable_sort(all.begin(), all.end(), [](const Place& a, const Place& b) {
      return a.column->flat < b.column->flat;
    });
    std::set<std::string> names;
    for (std::size_t j = 0; j < all.size(); ++j) {
      const auto& [column, category] = all[j];
      if (column->flat < 0 || (j > 0 && column->flat == all[j - 1].column->flat))
        bad_catboost(source_, fmt::format("two columns have the place {}", column->flat));
      const std::string name =
          column->name.empty() ? std::to_string(column->flat) : column->name;
      if (!names.insert(name).second)
        bad_catboost(source_, fmt::format("two columns are named {}", shorten(name)));
      auto& places = category ? categories_ : numbers_;
      if (!places.emplace(column->index, static_cast<std::int32_t>(j)).second)
        bad_catboost(source_, fmt::format("two columns have the index {}", column->index));
      ensemble().inputs.push_back(
          {.name = name,
           .kind = category ? ColumnKind::category : ColumnKind::number,
           .levels = {}});
    }
    ensemble().hashes.resize(all.size());
    missing_above_.resize(all.size());
    for (const CatboostNumber& column : model_.numbers)
      missing_above_[at(numbers_.at(column.index))] = column.missing_above;
  }

  [[nodiscard]] std::int32_t input_of(const std::map<std::int32_t, std::int32_t>& places,
                                      std::int32_t index) const {
    const auto found = places.find(index);
    if (found == places.end())
      bad_catboost(source_,
                   fmt::format("a split names column {}, which is not there", index));
    return found->second;
  }

  // x > border goes right; a float is then not below the next float.
  static double below(float border) {
    return std::nextafter(border, std::numeric_limits<float>::infinity());
  }

  void add_splits() {
    for (const CatboostNumber& column : model_.numbers)
      for (const float border : column.borders) {
        TreeNode node;
        node.input = input_of(numbers_, column.index);
        node.missing_left = !column.missing_above;
        node.below = below(border);
        splits_.push_back(node);
      }
    for (const CatboostOneHot& column : model_.one_hot) {
      const std::int32_t input = input_of(categories_, column.category);
      std::vector<std::int32_t>& known = ensemble().hashes[at(input)].known;
      if (column.hashes.size() > kMostOneHot || !known.empty())
        bad_catboost(source_, fmt::format("column {} has {} values to tell apart", input,
                                          column.hashes.size()));
      known = column.hashes;
      for (std::size_t c = 0; c < known.size(); ++c) {
        TreeNode node;
        node.input = input;
        node.set = static_cast<std::int32_t>(ensemble().sets.size());
        node.set_left = false;
        std::vector<std::uint32_t> bits(c / 32 + 1);
        bits[c / 32] = 1U << (c % 32);
        ensemble().sets.push_back(std::move(bits));
        splits_.push_back(node);
      }
    }
    for (const CatboostCtr& ctr : model_.ctrs) add_ctr(ctr);
    for (const TreeNode& node : splits_)
      if (std::isnan(node.below)) bad_catboost(source_, "a border is not a number");
  }

  void add_ctr(const CatboostCtr& ctr) {
    const auto input = static_cast<std::int32_t>(ensemble().inputs.size());
    TreeStatistic statistic;
    std::string name;
    const auto add_name = [&](std::int32_t part) {
      name += (name.empty() ? "" : " and ") + ensemble().inputs[at(part)].name;
    };
    for (const std::int32_t index : ctr.base.categories)
      statistic.categories.push_back(input_of(categories_, index));
    for (const auto& [index, border] : ctr.base.above) {
      const std::int32_t part = input_of(numbers_, index);
      statistic.above.push_back({part, border, missing_above_[at(part)]});
    }
    for (const auto& [index, hash] : ctr.base.equal)
      statistic.equal.push_back({input_of(categories_, index), hash});
    for (const std::int32_t part : statistic.inputs()) add_name(part);
    fill(ctr, statistic);
    ensemble().inputs.push_back(
        {.name = fmt::format("count {} of {}", ensemble().statistics.size() + 1, name),
         .levels = {}});
    ensemble().statistics.push_back(std::move(statistic));
    for (const float border : ctr.borders) {
      TreeNode node;
      node.input = input;
      node.below = below(border);
      splits_.push_back(node);
    }
  }

  // The value of each key, in float32 numbers as CatBoost computes it.
  void fill(const CatboostCtr& ctr, TreeStatistic& statistic) {
    const auto found = model_.tables.find(ctr.base);
    if (found == model_.tables.end())
      bad_catboost(source_, "the counts of a statistic are missing");
    const CatboostTable& table = found->second;
    auto [keys, added] =
        keys_.emplace(ctr.base, static_cast<std::int32_t>(ensemble().keys.size()));
    statistic.keys = keys->second;
    if (4 * table.keys.size() > left_)
      bad_catboost(source_, "too many statistics are made of the same counts");
    left_ -= 4 * table.keys.size();
    if (added) {
      std::vector<std::uint64_t> all;
      for (const auto& [key, first] : table.keys) all.push_back(key);
      if (std::adjacent_find(all.begin(), all.end(), std::greater_equal<>()) != all.end())
        bad_catboost(source_, "a category is counted twice");
      ensemble().keys.push_back(std::move(all));
    }
    const auto value = [&](float count, float total) {
      const float ratio = (count + ctr.prior) / (total + ctr.prior_weight);
      return (ratio + ctr.shift) * ctr.scale;
    };
    const bool counter = ctr.base.kind == CatboostCtrKind::counter ||
                         ctr.base.kind == CatboostCtrKind::frequency;
    const auto denominator = static_cast<float>(table.denominator);
    statistic.otherwise = value(0, counter ? denominator : 0);
    for (const auto& [key, first] : table.keys) {
      const auto [count, total] = counts(ctr, table, first);
      statistic.values.push_back(value(count, counter ? denominator : total));
    }
    for (const float one : statistic.values)
      if (std::isnan(one)) bad_catboost(source_, "a statistic is not a number");
    if (std::isnan(statistic.otherwise))
      bad_catboost(source_, "a statistic is not a number");
  }

  [[nodiscard]] std::pair<float, float> counts(const CatboostCtr& ctr,
                                               const CatboostTable& table,
                                               std::size_t first) const {
    const double* const c = table.counts.data() + first;
    const std::size_t classes = table.stride;
    const auto wrong = [&] { bad_catboost(source_, "a table of counts has another size"); };
    if (ctr.border < 0) wrong();
    const std::size_t border = at(ctr.border);
    double part = 0;
    switch (ctr.base.kind) {
      case CatboostCtrKind::borders:
        if (classes < 2 || border + 1 >= classes) wrong();
        part = std::accumulate(c + border + 1, c + classes, 0.0);
        break;
      case CatboostCtrKind::buckets:
        if (border >= classes) wrong();
        part = c[border];
        break;
      case CatboostCtrKind::binary_mean:
      case CatboostCtrKind::float_mean:
        if (classes != 2) wrong();
        return {static_cast<float>(c[0]), static_cast<float>(c[1])};
      case CatboostCtrKind::counter:
      case CatboostCtrKind::frequency:
        if (classes != 1) wrong();
        return {static_cast<float>(c[0]), 0.0F};
    }
    return {static_cast<float>(part),
            static_cast<float>(std::accumulate(c, c + classes, 0.0))};
  }

  // Whether the model has seen this hash of a column by itself.
  [[nodiscard]] bool knows(std::int32_t input, std::int32_t hash) const {
    const TreeEnsemble& trees = made_.trees.ensemble;
    const std::vector<std::int32_t>& known = trees.hashes[at(input)].known;
    if (std::find(known.begin(), known.end(), hash) != known.end()) return true;
    for (const TreeStatistic& statistic : trees.statistics) {
      for (const TreeStatistic::Equal& part : statistic.equal)
        if (part.input == input && part.hash == hash) return true;
      if (statistic.categories != std::vector<std::int32_t>{input} ||
          !statistic.above.empty() || !statistic.equal.empty())
        continue;
      constexpr std::uint64_t kFactor = 0x4906ba494954cb65U;
      const std::uint64_t key =
          kFactor * (kFactor * static_cast<std::uint64_t>(std::int64_t{hash}));
      const std::vector<std::uint64_t>& keys = trees.keys[at(statistic.keys)];
      if (std::binary_search(keys.begin(), keys.end(), key)) return true;
    }
    return false;
  }

  // The one text for missing values that the model knows; any, if it makes no difference.
  void choose_missing() {
    TreeEnsemble& trees = ensemble();
    for (const auto& [index, input] : categories_) {
      std::vector<std::string> seen;
      for (const char* text : kMissingTexts)
        if (knows(input, category_hash(text))) seen.emplace_back(text);
      bool combined = false;
      for (const TreeStatistic& statistic : trees.statistics)
        combined =
            combined || (statistic.inputs().size() > 1 &&
                         std::find(statistic.categories.begin(), statistic.categories.end(),
                                   input) != statistic.categories.end());
      if (seen.size() == 1)
        trees.hashes[at(input)].missing = seen[0];
      else if (seen.empty() && !combined)
        trees.hashes[at(input)].missing = "";
    }
  }

  void add_tree(std::size_t number) {
    const CatboostTree& from = model_.trees[number];
    std::vector<TreeNode> nodes;
    const auto split = [&](std::int32_t index) -> const TreeNode& {
      if (index < 0 || at(index) >= splits_.size())
        bad_catboost(source_, fmt::format("tree {} has split {}, there are {}", number,
                                          index, splits_.size()));
      return splits_[at(index)];
    };
    if (from.symmetric) {
      // Level l asks the split of the highest bit but l; nodes of a level stand together.
      const std::size_t levels = from.splits.size();
      for (std::size_t level = 0; level < levels; ++level) {
        const TreeNode& same = split(from.splits[levels - 1 - level]);
        const std::size_t width = std::size_t{1} << level, first = width - 1;
        for (std::size_t k = 0; k < width; ++k) {
          TreeNode node = same;
          const std::size_t next = 2 * (first + k) + 1;
          const bool last = level + 1 == levels;
          const auto leaf = static_cast<std::int32_t>(2 * k);
          node.left = last ? -1 - leaf : static_cast<std::int32_t>(next);
          node.right = last ? -2 - leaf : static_cast<std::int32_t>(next + 1);
          nodes.push_back(node);
        }
      }
    } else {
      for (const CatboostNode& one : from.nodes) {
        TreeNode node = split(one.split);
        node.left = one.left;
        node.right = one.right;
        nodes.push_back(node);
      }
    }
    for (Index k = 0; k < model_.outputs; ++k) {
      Tree tree;
      tree.nodes = nodes;
      tree.output = static_cast<std::int32_t>(k);
      tree.leaf_names.clear();
      for (std::size_t leaf = 0; leaf < from.first.size(); ++leaf) {
        const std::size_t value = from.first[leaf] + at(k);
        tree.leaf_names.push_back(static_cast<std::int32_t>(leaf));
        LeafPlace place = model_.places[value];
        place.scale = model_.scale;
        made_.trees.leaves.push_back(place);
        made_.trees.theta.push_back(model_.scale * model_.values[value]);
      }
      ensemble().trees.push_back(std::move(tree));
    }
  }

  void describe() {
    const TreeEnsemble& trees = ensemble();
    made_.details.emplace_back("loss", model_.loss);
    if (model_.outputs > 1)
      made_.details.emplace_back(
          "classes", fmt::format("each tree of the file counts as {}, one for each class",
                                 model_.outputs));
    if (!trees.statistics.empty())
      made_.details.emplace_back(
          "counts", fmt::format("{} statistics of categories (CTR), of {} tables",
                                trees.statistics.size(), trees.keys.size()));
    for (const auto& [index, input] : categories_) {
      const auto& missing = trees.hashes[at(input)].missing;
      made_.details.emplace_back(
          "empty",
          fmt::format("a cell of {} that is empty {}", trees.inputs[at(input)].name,
                      missing ? fmt::format("counts as the text \"{}\"", *missing)
                              : "is an error: several texts are possible"));
    }
  }

  const CatboostModel& model_;
  const std::string& source_;
  std::size_t left_;  // bytes that the values of statistics may take
  CatboostTrees made_;
  std::map<std::int32_t, std::int32_t> numbers_, categories_;  // index -> input
  std::vector<bool> missing_above_;
  std::map<CatboostBase, std::int32_t> keys_;
  std::vector<TreeNode> splits_;
};

std::string class_text(const nlohmann::json& name) {
  return name.is_string() ? name.get<std::string>() : std::string();
}

}  // namespace

CatboostTrees catboost_trees(const CatboostModel& model, const std::string& source,
                             std::size_t file_size) {
  return CatboostBuilder(model, source, file_size).run();
}

void read_catboost_parameters(const std::string& parameters, const std::string& classes,
                              const std::string& source, CatboostModel& into) {
  if (!parameters.empty()) {
    const auto json = parse_json(parameters, source + ": params");
    if (json.is_object() && json.contains("loss_function") &&
        json["loss_function"].is_object() && json["loss_function"].contains("type") &&
        json["loss_function"]["type"].is_string())
      into.loss = json["loss_function"]["type"].get<std::string>();
  }
  if (classes.empty()) return;
  const auto json = parse_json(classes, source + ": class_params");
  if (!json.is_object() || !json.contains("class_names") || !json["class_names"].is_array())
    return;
  for (const auto& name : json["class_names"]) into.classes.push_back(class_text(name));
  const bool texts = std::none_of(into.classes.begin(), into.classes.end(),
                                  [](const std::string& name) { return name.empty(); });
  if (!texts || std::ssize(into.classes) != std::max<Index>(2, into.outputs))
    into.classes.clear();
}

}  // namespace fmd::internal
