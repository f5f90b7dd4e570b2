#include "formats/xgboost.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <string_view>

#include "core/check.h"
#include "core/index.h"
#include "data/number.h"
#include "data/words.h"
#include "fmd/core/safe_text.h"
#include "fmd/formats/scorecard.h"
#include "fmd/model/encoder_backbone.h"
#include "formats/document.h"
#include "formats/tree_leaves.h"

namespace fmd::internal {
namespace {

const std::string kParameters = "learner.learner_model_param";
const std::string kXgboostScores =
    "score the data with XGBoost and give the scores: fmd audit --scores FILE";

[[noreturn]] void refuse(const Document& file, const std::string& what) {
  throw Error(ErrorKind::unsupported, fmt::format("{}: {}", file.source(), what),
              kXgboostScores);
}

double number_in(const Document& file, std::string_view text, const std::string& where) {
  double value = 0;
  if (parse_number(text, value) != NumberText::number)
    file.fail(where, fmt::format("is \"{}\", must be a number", shorten(text)));
  return value;
}

Index count_in(const Document& file, const DocumentValue& object, std::string_view key,
               const std::string& where, Index otherwise) {
  if (Document::find(object, key) == nullptr) return otherwise;
  const std::string place = fmt::format("{}.{}", where, key);
  const double value = number_in(file, file.text(object, key, where), place);
  if (!(value >= 0 && value <= 1e9) || value != std::floor(value))
    file.fail(place, fmt::format("is {}, must be a count", value));
  return static_cast<Index>(value);
}

// "5E-1", or "[5E-1]" and "[1E-1,2E-1]" since version 3.1.
std::vector<double> base_scores(const Document& file, std::string_view text) {
  const std::string where = kParameters + ".base_score";
  std::vector<double> scores;
  if (text.starts_with('[')) {
    if (!text.ends_with(']')) file.fail(where, "is a list without an end");
    text = text.substr(1, text.size() - 2);
  }
  while (true) {
    const std::size_t comma = text.find(',');
    scores.push_back(number_in(file, text.substr(0, comma), where));
    if (comma == std::string_view::npos) return scores;
    text.remove_prefix(comma + 1);
  }
}

struct XgboostObjective {
  std::string_view name;
  Link link;
  bool probability;  // base_score is one, not a margin
};
constexpr XgboostObjective kObjectives[] = {{"binary:logistic", Link::sigmoid, true},
                                            {"binary:logitraw", Link::sigmoid, false},
                                            {"reg:logistic", Link::sigmoid, true},
                                            {"multi:softprob", Link::softmax, false},
                                            {"multi:softmax", Link::softmax, false}};

const XgboostObjective& xgboost_objective(const Document& file,
                                          const DocumentValue& learner) {
  const DocumentValue& objective = file.at(learner, "objective", "learner");
  const std::string& name = file.text(objective, "name", "learner.objective");
  std::vector<std::string> known;
  for (const XgboostObjective& one : kObjectives) {
    if (one.name == name) return one;
    known.emplace_back(one.name);
  }
  refuse(file, fmt::format("the objective {} gives no probabilities that fmd knows; it "
                           "reads {}",
                           shorten(name), list_words(known)));
}

std::vector<double> base_margins(const Document& file, const DocumentValue& learner,
                                 const XgboostObjective& objective, Index outputs) {
  const DocumentValue& parameters = file.at(learner, "learner_model_param", "learner");
  std::vector<double> base =
      base_scores(file, file.text(parameters, "base_score", kParameters));
  if (std::ssize(base) != 1 && std::ssize(base) != outputs)
    file.fail(kParameters + ".base_score",
              fmt::format("has {} numbers for {} outputs", base.size(), outputs));
  if (objective.probability)
    for (double& score : base) {
      if (!(score > 0 && score < 1))
        file.fail(kParameters + ".base_score",
                  fmt::format("is {}, must be between 0 and 1", score));
      score = -std::log(1 / score - 1);
    }
  base.resize(at(outputs), base[0]);
  return base;
}

// Category names of one feature, in the order of their codes.
std::vector<std::string> category_names(const Document& file, const DocumentValue& enc,
                                        const std::string& where) {
  std::vector<std::string> levels;
  const std::vector<double> values = file.numbers(enc, "values", where);
  if (Document::find(enc, "offsets") == nullptr) {
    for (const double value : values) levels.push_back(number_text(value));
    return levels;
  }
  const std::vector<double> offsets = file.numbers(enc, "offsets", where);
  for (std::size_t k = 0; k + 1 < offsets.size(); ++k) {
    if (!(offsets[k] >= 0 && offsets[k] <= offsets[k + 1] &&
          offsets[k + 1] <= static_cast<double>(values.size())))
      file.fail(where, "offsets must ascend within the values");
    std::string level;
    for (auto i = static_cast<std::size_t>(offsets[k]);
         i < static_cast<std::size_t>(offsets[k + 1]); ++i)
      level += static_cast<char>(static_cast<int>(values[i]));
    for (const char c : level)
      if (static_cast<unsigned char>(c) >= 0x80)
        refuse(file,
               "a category has a name that is not ASCII; XGBoost stores such names "
               "cut off, so that they cannot be told apart");
    levels.push_back(std::move(level));
  }
  return levels;
}

bool has_names(const Document& file, const DocumentValue& learner) {
  return Document::find(learner, "feature_names") != nullptr &&
         !file.list(learner, "feature_names", "learner").empty();
}

std::vector<InputColumn> xgboost_inputs(const Document& file, const DocumentValue& learner,
                                        const DocumentValue& model) {
  const DocumentValue& parameters = file.at(learner, "learner_model_param", "learner");
  const Index count = count_in(file, parameters, "num_feature", kParameters, 0);
  if (count > static_cast<Index>(file.bytes().size()))
    file.fail(kParameters + ".num_feature", fmt::format("{} features are too many", count));
  std::vector<InputColumn> inputs(at(count));
  static const std::vector<DocumentValue> kNone;
  const auto& names =
      has_names(file, learner) ? file.list(learner, "feature_names", "learner") : kNone;
  if (!names.empty() && std::ssize(names) != count)
    file.fail("learner.feature_names",
              fmt::format("has {} names for {} features", names.size(), count));
  for (std::size_t j = 0; j < inputs.size(); ++j)
    inputs[j].name = names.empty() ? fmt::format("f{}", j) : names[j].text;
  const DocumentValue* cats = Document::find(model, "cats");
  if (cats == nullptr) return inputs;
  const std::string where = "learner.gradient_booster.model.cats";
  const auto& enc = file.list(*cats, "enc", where);
  for (std::size_t j = 0; j < enc.size() && j < inputs.size(); ++j) {
    if (Document::find(enc[j], "values") == nullptr) continue;
    inputs[j].levels = category_names(file, enc[j], where + ".enc");
    if (!inputs[j].levels.empty()) inputs[j].kind = ColumnKind::category;
  }
  return inputs;
}

// One tree of the file: parallel lists with an entry for each node.
class TreeReader {
 public:
  TreeReader(const Document& file, const DocumentValue& tree, std::size_t number)
      : file_(file), where_(fmt::format("tree {}", number)) {
    const DocumentValue& parameters = file.at(tree, "tree_param", where_);
    if (count_in(file, parameters, "size_leaf_vector", where_, 1) > 1)
      refuse(file, "its leaves hold a value for each class (multi_output_tree)");
    left_ = file.numbers(tree, "left_children", where_);
    right_ = lists(tree, "right_children");
    input_ = lists(tree, "split_indices");
    default_left_ = lists(tree, "default_left");
    if (Document::find(tree, "split_type") != nullptr) type_ = lists(tree, "split_type");
    type_.resize(left_.size());
    value_ = lists(tree, "split_conditions");
    const DocumentValue& conditions = file.at(tree, "split_conditions", where_);
    file.each(conditions, [&](double, std::size_t begin, std::size_t end) {
      place_.push_back({begin, end, 1, 0});
    });
    if (file.binary() && conditions.type != 'd')
      file.fail(where_, "split_conditions must be numbers of 32 bits");
    if (left_.empty()) file.fail(where_, "has no nodes");
    if (Document::find(tree, "categories_nodes") != nullptr) read_sets(tree);
  }

  // Adds the tree, its sets and its leaves. Nodes that the root does not reach (pruned
  // ones) are left out.
  void add(std::int32_t output, double scale, TreeFile& into) {
    Tree tree;
    tree.output = output;
    tree.leaf_names.clear();
    std::vector<bool> seen(left_.size());
    struct Open {
      std::size_t node;
      std::int32_t parent;
      bool left;
    };
    std::vector<Open> open = {{0, -1, false}};
    while (!open.empty()) {
      const auto [node, parent, is_left] = open.back();
      open.pop_back();
      if (seen[node]) file_.fail(where_, fmt::format("node {} has two parents", node));
      seen[node] = true;
      std::int32_t own = 0;
      if (left_[node] == -1) {
        own = -1 - static_cast<std::int32_t>(tree.leaf_names.size());
        tree.leaf_names.push_back(static_cast<std::int32_t>(node));
        into.theta.push_back(scale * static_cast<double>(static_cast<float>(value_[node])));
        into.leaves.push_back({place_[node].begin, place_[node].end, scale, 0});
      } else {
        own = static_cast<std::int32_t>(tree.nodes.size());
        tree.nodes.push_back(split(node, into));
        open.push_back({child(right_, node), own, false});
        open.push_back({child(left_, node), own, true});
      }
      if (parent >= 0)
        (is_left ? tree.nodes[at(parent)].left : tree.nodes[at(parent)].right) = own;
    }
    into.ensemble.trees.push_back(std::move(tree));
  }

 private:
  std::vector<double> lists(const DocumentValue& tree, std::string_view key) {
    std::vector<double> all = file_.numbers(tree, key, where_);
    if (all.size() != left_.size())
      file_.fail(where_, fmt::format("{} has {} entries for {} nodes", key, all.size(),
                                     left_.size()));
    return all;
  }

  void read_sets(const DocumentValue& tree) {
    const auto nodes = file_.numbers(tree, "categories_nodes", where_);
    const auto segments = file_.numbers(tree, "categories_segments", where_);
    const auto sizes = file_.numbers(tree, "categories_sizes", where_);
    const auto categories = file_.numbers(tree, "categories", where_);
    if (segments.size() != nodes.size() || sizes.size() != nodes.size())
      file_.fail(where_, "the lists of categories have different lengths");
    sets_.resize(nodes.empty() ? 0 : left_.size());
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      if (!(nodes[k] >= 0 && nodes[k] < static_cast<double>(left_.size())) ||
          !(segments[k] >= 0 && sizes[k] >= 0 &&
            segments[k] + sizes[k] <= static_cast<double>(categories.size())))
        file_.fail(where_, "a list of categories lies outside");
      std::vector<std::uint32_t>& bits = sets_[static_cast<std::size_t>(nodes[k])];
      const auto first = static_cast<std::size_t>(segments[k]);
      for (std::size_t i = first; i < first + static_cast<std::size_t>(sizes[k]); ++i) {
        if (!(categories[i] >= 0 && categories[i] < 16777216))
          file_.fail(where_, fmt::format("a category {}", categories[i]));
        const auto c = static_cast<std::size_t>(categories[i]);
        if (bits.size() <= c / 32) bits.resize(c / 32 + 1);
        bits[c / 32] |= 1U << (c % 32);
      }
    }
  }

  [[nodiscard]] std::size_t child(const std::vector<double>& children,
                                  std::size_t node) const {
    if (!(children[node] >= 1 && children[node] < static_cast<double>(left_.size())) ||
        children[node] != std::floor(children[node]))
      file_.fail(where_, fmt::format("node {} leads to node {}, there are {}", node,
                                     children[node], left_.size()));
    return static_cast<std::size_t>(children[node]);
  }

  TreeNode split(std::size_t n, TreeFile& into) const {
    TreeNode node;
    if (!(input_[n] >= 0 && input_[n] < static_cast<double>(into.ensemble.inputs.size())) ||
        input_[n] != std::floor(input_[n]))
      file_.fail(where_, fmt::format("node {} splits on feature {}, there are {}", n,
                                     input_[n], into.ensemble.inputs.size()));
    node.input = static_cast<std::int32_t>(input_[n]);
    node.missing_left = default_left_[n] != 0;
    if (type_[n] == 0) {
      node.below = static_cast<double>(static_cast<float>(value_[n]));
      return node;
    }
    if (sets_.empty()) file_.fail(where_, fmt::format("node {} has no categories", n));
    node.set = static_cast<std::int32_t>(into.ensemble.sets.size());
    node.set_left = false;
    into.ensemble.sets.push_back(sets_[n]);
    return node;
  }

  const Document& file_;
  std::string where_;
  std::vector<double> left_, right_, input_, default_left_, type_, value_;
  std::vector<LeafPlace> place_;
  std::vector<std::vector<std::uint32_t>> sets_;  // of each node
};

// The rounds of the file, and how many of them are the model.
struct XgboostRounds {
  bool scikit_learn = false;  // saved by XGBClassifier or the like
  bool best = false;          // the file says which round was the best
  Index in_file = 0, used = 0;
  std::size_t trees = 0;  // that are used
};

XgboostRounds rounds_used(const Document& file, const DocumentValue& learner,
                          const DocumentValue& model, std::size_t trees, Index outputs,
                          TreeRounds wanted) {
  XgboostRounds rounds{.trees = trees};
  const std::string where = "learner.gradient_booster.model.gbtree_model_param";
  const DocumentValue* parameters = Document::find(model, "gbtree_model_param");
  const Index parallel =
      parameters == nullptr
          ? 1
          : std::max<Index>(1, count_in(file, *parameters, "num_parallel_tree", where, 1));
  const double each = static_cast<double>(outputs) * static_cast<double>(parallel);
  rounds.in_file = static_cast<Index>(static_cast<double>(trees) / each);
  rounds.used = rounds.in_file;
  const DocumentValue* attributes = Document::find(learner, "attributes");
  if (attributes != nullptr) {
    rounds.scikit_learn = Document::find(*attributes, "scikit_learn") != nullptr;
    rounds.best = Document::find(*attributes, "best_iteration") != nullptr;
  }
  if (wanted == TreeRounds::best && !rounds.best)
    throw Error(ErrorKind::bad_option,
                fmt::format("--trees best: {} has no best_iteration", file.source()),
                "leave --trees out: the file was trained without early stopping");
  if (!rounds.best || wanted == TreeRounds::all ||
      (wanted == TreeRounds::as_library && !rounds.scikit_learn))
    return rounds;
  const Index best = count_in(file, *attributes, "best_iteration", "learner.attributes", 0);
  const double used = static_cast<double>(best + 1) * each;
  if (used < static_cast<double>(trees)) {
    rounds.trees = static_cast<std::size_t>(used);
    rounds.used = best + 1;
  }
  return rounds;
}

// What people should know about the rounds.
std::vector<std::pair<std::string, std::string>> details_of(const XgboostRounds& rounds) {
  std::vector<std::pair<std::string, std::string>> lines;
  if (rounds.best && rounds.used < rounds.in_file)
    lines.emplace_back("rounds",
                       fmt::format("the first {} of {} are the model (best_iteration), as "
                                   "XGBClassifier predicts; --trees all takes all",
                                   rounds.used, rounds.in_file));
  else if (rounds.best)
    lines.emplace_back(
        "rounds", fmt::format("all {} are the model, as Booster.predict takes them; the "
                              "file has a best_iteration, and --trees best stops there",
                              rounds.in_file));
  if (rounds.scikit_learn)
    lines.emplace_back(
        "saved by",
        "XGBoost's scikit-learn class: its labels are numbers from 0, and "
        "the file does not keep its `missing`: empty cells alone are missing");
  return lines;
}

void read_trees(const Document& file, const DocumentValue& model,
                const std::vector<double>& weights, const XgboostRounds& rounds,
                TreeFile& into) {
  const std::string where = "learner.gradient_booster.model";
  const auto& trees = file.list(model, "trees", where);
  const std::vector<double> output = file.numbers(model, "tree_info", where);
  if (output.size() != trees.size())
    file.fail(where, fmt::format("tree_info has {} entries for {} trees", output.size(),
                                 trees.size()));
  if (!weights.empty() && weights.size() != trees.size())
    file.fail(where, fmt::format("weight_drop has {} entries for {} trees", weights.size(),
                                 trees.size()));
  const Index outputs = std::ssize(into.ensemble.base);
  if (rounds.trees == 0) refuse(file, "it has no trees");
  for (std::size_t t = 0; t < rounds.trees; ++t) {
    if (!(output[t] >= 0 && output[t] < static_cast<double>(outputs)))
      file.fail(where,
                fmt::format("tree {} is of class {}, there are {}", t, output[t], outputs));
    const double weight = weights.empty() ? 1 : weights[t];
    if (!std::isfinite(weight)) file.fail(where, "a weight of a tree is not finite");
    if (weight == 0) continue;  // adds nothing, and no value of its leaves could
    TreeReader(file, trees[t], t).add(static_cast<std::int32_t>(output[t]), weight, into);
  }
}

struct XgboostModel {
  Model model;
  std::vector<LeafPlace> places;  // of each parameter
  std::vector<std::pair<std::string, std::string>> details;
};

// gblinear: a weight for each feature and class, then the bias of each class. The base is
// in the head's intercepts. A missing number counts 0.
XgboostModel linear_model(const Document& file, const DocumentValue& booster,
                          const XgboostObjective& objective, const TreeFile& found) {
  const std::string where = "learner.gradient_booster.model";
  const DocumentValue& model = file.at(booster, "model", "learner.gradient_booster");
  const std::vector<double> weights = file.numbers(model, "weights", where);
  const Index features = std::ssize(found.ensemble.inputs),
              outputs = std::ssize(found.ensemble.base);
  if (std::ssize(weights) != (features + 1) * outputs)
    file.fail(where, fmt::format("weights has {} numbers for {} features and {} outputs",
                                 weights.size(), features, outputs));
  const DocumentValue& list = file.at(model, "weights", where);
  if (file.binary() && list.type != 'd')
    file.fail(where, "weights must be numbers of 32 bits");
  std::vector<LeafPlace> in_file;
  file.each(list, [&](double, std::size_t begin, std::size_t end) {
    in_file.push_back({begin, end, 1, 0});
  });
  std::vector<PlainColumn> columns;
  for (const InputColumn& input : found.ensemble.inputs)
    columns.push_back({.name = input.name});
  XgboostModel made;
  made.model.backbone =
      std::make_shared<const EncoderBackbone>(plain_encoder(columns, file.source()));
  made.model.head = std::make_shared<const LinearHead>(
      features, outputs, LinearHeadOptions{.link = objective.link});
  made.model.theta.resize(outputs * (features + 1));
  for (Index k = 0; k < outputs; ++k)
    for (Index j = 0; j <= features; ++j) {
      const std::size_t place = at(j * outputs + k);
      const double base = j == features ? found.ensemble.base[0] : 0;
      const auto value = static_cast<double>(static_cast<float>(weights[place]));
      if (!std::isfinite(value)) file.fail(where, "a weight is not finite");
      made.model.theta[std::ssize(made.places)] = value + base;
      made.places.push_back(in_file[place]);
      made.places.back().shift = base;
    }
  return made;
}

XgboostModel read_xgboost(const Document& file, TreeRounds wanted) {
  const DocumentValue& learner = file.at(file.root(), "learner", "");
  const DocumentValue& booster = file.at(learner, "gradient_booster", "learner");
  const std::string where = "learner.gradient_booster";
  const std::string& name = file.text(booster, "name", where);
  if (name != "gbtree" && name != "dart" && name != "gblinear")
    refuse(file, fmt::format("the booster {} is not read", shorten(name)));
  const bool dart = name == "dart";
  const DocumentValue& gbtree = dart ? file.at(booster, "gbtree", where) : booster;
  const DocumentValue& model = file.at(gbtree, "model", where);
  const XgboostObjective& objective = xgboost_objective(file, learner);
  const DocumentValue& parameters = file.at(learner, "learner_model_param", "learner");
  if (count_in(file, parameters, "num_target", kParameters, 1) > 1)
    refuse(file, "it predicts several labels at once");
  const Index classes = count_in(file, parameters, "num_class", kParameters, 0);
  if ((objective.link == Link::softmax) != (classes > 1))
    file.fail(kParameters + ".num_class",
              fmt::format("is {} with the objective {}", classes, objective.name));
  if (classes > 100000) file.fail(kParameters + ".num_class", "too many classes");
  TreeFile found;
  found.link = objective.link;
  found.ensemble.single = true;
  found.ensemble.base = base_margins(file, learner, objective, std::max<Index>(1, classes));
  found.ensemble.inputs = xgboost_inputs(file, learner, model);
  found.ensemble.unnamed = !has_names(file, learner);
  if (name == "gblinear") {
    if (wanted == TreeRounds::best)
      throw Error(ErrorKind::bad_option,
                  fmt::format("--trees best: {} has no trees", file.source()),
                  "leave --trees out");
    return linear_model(file, booster, objective, found);
  }
  const auto weights =
      dart ? file.numbers(booster, "weight_drop", where) : std::vector<double>();
  const XgboostRounds rounds =
      rounds_used(file, learner, model, file.list(model, "trees", where + ".model").size(),
                  std::ssize(found.ensemble.base), wanted);
  read_trees(file, model, weights, rounds, found);
  std::vector<LeafPlace> places = found.leaves;
  return {tree_model(std::move(found), file.source()), std::move(places),
          details_of(rounds)};
}

class XgboostFile final : public ModelFile {
 public:
  XgboostFile(FileSet files, TreeRounds rounds) : ModelFile(std::move(files)) {
    const std::string source = path().filename().string();
    const Document file(bytes(), source);
    binary_ = file.binary();
    XgboostModel found = read_xgboost(file, rounds);
    leaves_ = std::move(found.places);
    details_ = std::move(found.details);
    model_ = std::move(found.model);
  }
  [[nodiscard]] const Model& model() const override { return model_; }
  [[nodiscard]] std::string format() const override {
    return binary_ ? "XGBoost UBJSON" : "XGBoost JSON";
  }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> details() const override {
    return details_;
  }
  [[nodiscard]] Patch patch(const Model& changed) const override {
    Patch patch;
    for (const LeafChange& change : leaf_changes(leaves_, model_.theta, changed.theta)) {
      const LeafPlace& place = leaves_[change.leaf];
      const auto value = static_cast<float>(change.value);
      if (!std::isfinite(value))
        throw Error(ErrorKind::numerical, "the value of a leaf is too large for the file",
                    "nothing was written: try another method or candidate");
      patch.ranges.push_back({"", static_cast<Index>(place.begin),
                              static_cast<Index>(place.end - place.begin),
                              bytes_of(value)});
    }
    return patch;
  }

 private:
  [[nodiscard]] Bytes bytes_of(float value) const {
    if (!binary_) {
      const std::string text = float_text(value);
      return {text.begin(), text.end()};
    }
    const auto raw = std::bit_cast<std::uint32_t>(value);
    return {static_cast<std::uint8_t>(raw >> 24), static_cast<std::uint8_t>(raw >> 16),
            static_cast<std::uint8_t>(raw >> 8), static_cast<std::uint8_t>(raw)};
  }

  bool binary_ = false;
  std::vector<LeafPlace> leaves_;
  std::vector<std::pair<std::string, std::string>> details_;
  Model model_;
};

bool is_xgboost(std::span<const std::uint8_t> first) {
  const std::string_view text(reinterpret_cast<const char*>(first.data()), first.size());
  const std::size_t brace = text.find_first_not_of(" \t\r\n");
  return brace != std::string_view::npos && text[brace] == '{' &&
         (text.find("learner") != std::string_view::npos ||
          text.find("gradient_booster") != std::string_view::npos);
}

}  // namespace

ModelFormat xgboost_format(TreeRounds rounds) {
  return {"xgboost",
          [](const std::filesystem::path&, std::span<const std::uint8_t> first) {
            return is_xgboost(first);
          },
          [rounds](FileSet files) -> std::unique_ptr<ModelFile> {
            return std::make_unique<XgboostFile>(std::move(files), rounds);
          }};
}

}  // namespace fmd::internal

namespace fmd {

ModelFormats with_tree_rounds(ModelFormats formats, TreeRounds rounds) {
  if (rounds == TreeRounds::as_library) return formats;
  const std::string name = xgboost_format().name;
  for (ModelFormat& format : formats) {
    if (format.name == name)
      format = xgboost_format(rounds);
    else
      format.open = [](const FileSet& files) -> std::unique_ptr<ModelFile> {
        throw Error(ErrorKind::bad_option,
                    fmt::format("--trees: {} is no file of XGBoost", files.source()),
                    "leave --trees out: only XGBoost's files keep rounds after the best");
      };
  }
  return formats;
}

}  // namespace fmd
