#include "formats/lightgbm.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>

#include "core/check.h"
#include "core/index.h"
#include "core/json.h"
#include "data/number.h"
#include "data/words.h"
#include "fmd/core/safe_text.h"
#include "formats/tree_leaves.h"

namespace fmd::internal {
namespace {

const std::string kLightgbmScores =
    "score the data with LightGBM and give the scores: fmd audit --scores FILE";

// A value of a line "key=value" and where it stands.
struct Entry {
  std::string_view text;
  std::size_t begin = 0;
};
using Entries = std::map<std::string_view, Entry>;

// The file as blocks of lines: the header, each tree, and what comes after.
class LightgbmText {
 public:
  LightgbmText(std::span<const std::uint8_t> bytes, std::string source)
      : text_(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
        source_(std::move(source)) {
    if (text_.find('\r') != text_.npos)
      throw Error(ErrorKind::bad_model,
                  fmt::format("{}: lines end with a carriage return, which LightGBM "
                              "cannot read",
                              source_),
                  "save the model again, and copy it as a binary file");
    if (valid_utf8(text_) != text_) fail("the file is not UTF-8");
    if (take_line() != "tree") fail("the first line must be \"tree\"");
    header_ = read_block();
    while (at_ < text_.size()) {
      const std::size_t begin = at_;
      const std::string_view line = take_line();
      if (line == "end of trees") return;
      if (line.empty()) continue;
      if (!line.starts_with("Tree=")) fail_at(begin, "a tree is expected");
      trees_.push_back(read_block());
    }
    fail("\"end of trees\" is missing: the file is cut off");
  }

  [[nodiscard]] const Entries& header() const { return header_; }
  [[nodiscard]] const std::vector<Entries>& trees() const { return trees_; }
  [[nodiscard]] const std::string& source() const { return source_; }
  [[nodiscard]] std::string_view last_line(std::string_view key) const {
    const std::size_t found = text_.rfind(key);
    if (found == text_.npos || (found > 0 && text_[found - 1] != '\n')) return {};
    const std::string_view rest = text_.substr(found + key.size());
    return rest.substr(0, rest.find('\n'));
  }

  [[nodiscard]] const Entry& entry(const Entries& block, std::string_view key,
                                   const std::string& where) const {
    const auto found = block.find(key);
    if (found == block.end()) fail(fmt::format("{}: {} is missing", where, key));
    return found->second;
  }
  [[nodiscard]] double number(const Entries& block, std::string_view key,
                              const std::string& where) const {
    const std::vector<double> all = numbers(block, key, where);
    if (all.size() != 1) fail(fmt::format("{}: {} must be one number", where, key));
    return all[0];
  }
  // places: where each number stands.
  [[nodiscard]] std::vector<double> numbers(
      const Entries& block, std::string_view key, const std::string& where,
      std::vector<LeafPlace>* places = nullptr) const {
    const Entry& e = entry(block, key, where);
    std::vector<double> all;
    std::size_t i = 0;
    while (i < e.text.size()) {
      const std::size_t end = std::min(e.text.find(' ', i), e.text.size());
      double value = 0;
      const std::string_view word = e.text.substr(i, end - i);
      const auto [read, error] =
          std::from_chars(word.data(), word.data() + word.size(), value);
      if ((error != std::errc() && error != std::errc::result_out_of_range) ||
          read != word.data() + word.size())
        fail(fmt::format("{}: {} has \"{}\", which is not a number", where, key,
                         shorten(word)));
      all.push_back(value);
      if (places != nullptr) places->push_back({e.begin + i, e.begin + end, 1});
      i = end + 1;
    }
    return all;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorKind::bad_model, fmt::format("{}: {}", source_, what),
                "the file is damaged: save the model again");
  }
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorKind::unsupported, fmt::format("{}: {}", source_, what),
                kLightgbmScores);
  }

 private:
  [[noreturn]] void fail_at(std::size_t byte, const std::string& what) const {
    fail(fmt::format("byte {}: {}", byte, what));
  }
  std::string_view take_line() {
    const std::string_view rest = text_.substr(at_);
    const std::string_view line = rest.substr(0, rest.find('\n'));
    at_ = std::min(text_.size(), at_ + line.size() + 1);
    return line;
  }
  // Lines up to an empty one.
  Entries read_block() {
    Entries block;
    while (at_ < text_.size()) {
      const std::size_t begin = at_;
      const std::string_view line = take_line();
      if (line.empty()) break;
      const std::size_t equals = line.find('=');
      const bool bare = equals == line.npos;
      const std::string_view key = line.substr(0, equals);
      const Entry value =
          bare ? Entry{{}, begin} : Entry{line.substr(equals + 1), begin + equals + 1};
      if (!block.emplace(key, value).second)
        fail_at(begin, fmt::format("{} appears twice", shorten(key)));
    }
    return block;
  }

  std::string_view text_;
  std::string source_;
  std::size_t at_ = 0;
  Entries header_;
  std::vector<Entries> trees_;
};

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t end = std::min(text.find(' ', i), text.size());
    if (end > i) words.emplace_back(text.substr(i, end - i));
    i = end + 1;
  }
  return words;
}

struct LightgbmObjective {
  Link link = Link::sigmoid;
  double scale = 1;  // of the margin: p = sigmoid(scale z)
};

LightgbmObjective lightgbm_objective(const LightgbmText& file) {
  if (!file.header().contains("objective"))
    file.refuse("it names no objective: a custom one, whose link is not known");
  const std::vector<std::string> words =
      words_of(file.entry(file.header(), "objective", "header").text);
  const std::string name = words.empty() ? "" : words[0];
  LightgbmObjective objective;
  for (const std::string& word : words) {
    if (!word.starts_with("sigmoid:")) continue;
    if (parse_number(word.substr(8), objective.scale) != NumberText::number ||
        !(objective.scale > 0))
      file.fail(fmt::format("objective: {} must be a number > 0", shorten(word)));
  }
  if (name == "binary" || name == "cross_entropy" || name == "xentropy") return objective;
  if (name == "multiclass") return {Link::softmax, 1};
  if (name == "multiclassova") return {Link::one_vs_rest, objective.scale};
  file.refuse(
      fmt::format("the objective {} gives no probabilities that fmd knows; it reads "
                  "binary, cross_entropy, multiclass and multiclassova",
                  shorten(name)));
}

// The levels of categorical columns, in the order of the columns; empty: codes are given.
std::vector<std::vector<std::string>> pandas_levels(const LightgbmText& file) {
  const std::string_view text = file.last_line("pandas_categorical:");
  std::vector<std::vector<std::string>> all;
  if (text.empty() || text == "null") return all;
  const auto json = parse_json(text, file.source() + ": pandas_categorical");
  if (!json.is_array()) file.fail("pandas_categorical must be a list");
  for (const auto& column : json) {
    if (!column.is_array()) file.fail("pandas_categorical must be a list of lists");
    std::vector<std::string>& levels = all.emplace_back();
    for (const auto& level : column) {
      if (level.is_string())
        levels.push_back(level.get<std::string>());
      else if (level.is_boolean())
        levels.push_back(level.get<bool>() ? "True" : "False");
      else if (level.is_number())
        levels.push_back(number_text(level.get<double>()));
      else
        file.fail("pandas_categorical has a level that is no text and no number");
    }
  }
  return all;
}

// The numbers of the categorical columns, ascending. The parameters of the training name
// them; empty where they do not.
std::vector<std::size_t> categorical_features(const LightgbmText& file,
                                              std::size_t features) {
  std::string_view text = file.last_line("[categorical_feature: ");
  if (!text.ends_with(']')) return {};
  text.remove_suffix(1);
  std::vector<std::size_t> found;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    std::size_t number = 0;
    const auto [end, error] =
        std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc() || end != word.data() + word.size() || number >= features)
      return {};
    found.push_back(number);
  }
  std::sort(found.begin(), found.end());
  return found;
}

// Categorical columns have feature_infos like "0:1:2", others "[0:99]". A column of either
// kind that no split could use has "none".
std::vector<InputColumn> lightgbm_inputs(const LightgbmText& file) {
  const Entries& header = file.header();
  const double last = file.number(header, "max_feature_idx", "header");
  const std::vector<std::string> names =
      words_of(file.entry(header, "feature_names", "header").text);
  if (last != static_cast<double>(names.size()) - 1)
    file.fail(fmt::format("feature_names has {} names, max_feature_idx is {}", names.size(),
                          last));
  const std::vector<std::string> infos =
      words_of(file.entry(header, "feature_infos", "header").text);
  if (infos.size() != names.size())
    file.fail(fmt::format("feature_infos has {} entries for {} features", infos.size(),
                          names.size()));
  std::vector<InputColumn> inputs(names.size());
  std::vector<std::size_t> categories;
  for (std::size_t j = 0; j < names.size(); ++j) {
    inputs[j].name = names[j];
    if (infos[j] != "none" && !infos[j].starts_with('[')) categories.push_back(j);
  }
  const auto levels = pandas_levels(file);
  if (levels.empty()) return inputs;
  if (levels.size() != categories.size()) {
    const std::vector<std::size_t> named = categorical_features(file, names.size());
    if (std::includes(named.begin(), named.end(), categories.begin(), categories.end()))
      categories = named;
  }
  if (levels.size() != categories.size())
    file.refuse(
        fmt::format("pandas_categorical has {} columns and the trees {}: it cannot "
                    "be told which column has which categories",
                    levels.size(), categories.size()));
  for (std::size_t k = 0; k < levels.size(); ++k) {
    inputs[categories[k]].kind = ColumnKind::category;
    inputs[categories[k]].levels = levels[k];
  }
  return inputs;
}

// The rule of each feature: 1, -1 or 0. Empty: the file states none.
std::vector<int> lightgbm_monotone(const LightgbmText& file, std::size_t features) {
  if (!file.header().contains("monotone_constraints")) return {};
  std::vector<int> rules;
  for (const std::string& word :
       words_of(file.entry(file.header(), "monotone_constraints", "header").text)) {
    if (word != "0" && word != "1" && word != "-1")
      file.fail("monotone_constraints has an entry that is not -1, 0 or 1");
    rules.push_back(word == "0" ? 0 : word == "1" ? 1 : -1);
  }
  if (rules.size() != features)
    file.fail(fmt::format("monotone_constraints has {} entries for {} features",
                          rules.size(), features));
  return rules;
}

class LightgbmTree {
 public:
  LightgbmTree(const LightgbmText& file, std::size_t number)
      : file_(file), block_(file.trees()[number]), where_(fmt::format("tree {}", number)) {}

  void add(std::int32_t output, double scale, TreeFile& into) {
    if (block_.contains("is_linear") && file_.number(block_, "is_linear", where_) != 0)
      file_.refuse("its leaves hold linear models (linear_tree)");
    const double leaves = file_.number(block_, "num_leaves", where_);
    std::vector<LeafPlace> places;
    const std::vector<double> values = file_.numbers(block_, "leaf_value", where_, &places);
    if (leaves != static_cast<double>(values.size()) || values.empty())
      file_.fail(fmt::format("{}: leaf_value has {} numbers, num_leaves is {}", where_,
                             values.size(), leaves));
    Tree tree;
    tree.output = output;
    tree.leaf_names.clear();
    for (std::size_t l = 0; l < values.size(); ++l) {
      tree.leaf_names.push_back(static_cast<std::int32_t>(l));
      into.theta.push_back(scale * values[l]);
      into.leaves.push_back({places[l].begin, places[l].end, scale, 0});
    }
    if (values.size() > 1) add_nodes(values.size() - 1, tree, into.ensemble);
    into.ensemble.trees.push_back(std::move(tree));
  }

 private:
  [[nodiscard]] std::vector<double> list(std::string_view key, std::size_t count) const {
    std::vector<double> all = file_.numbers(block_, key, where_);
    if (all.size() != count)
      file_.fail(fmt::format("{}: {} has {} numbers for {} splits", where_, key, all.size(),
                             count));
    return all;
  }

  void add_nodes(std::size_t count, Tree& tree, TreeEnsemble& ensemble) {
    const auto feature = list("split_feature", count), threshold = list("threshold", count),
               type = list("decision_type", count), left = list("left_child", count),
               right = list("right_child", count);
    if (block_.contains("cat_boundaries")) {
      boundaries_ = file_.numbers(block_, "cat_boundaries", where_);
      words_ = file_.numbers(block_, "cat_threshold", where_);
    }
    for (std::size_t n = 0; n < count; ++n) {
      TreeNode node;
      node.input = whole(feature[n], "split_feature");
      node.left = whole(left[n], "left_child");
      node.right = whole(right[n], "right_child");
      const std::int32_t bits = whole(type[n], "decision_type");
      if (bits < 0 || bits > 11) file_.fail(where_ + ": decision_type is not known");
      node.missing_left = (bits & 2) != 0;
      node.missing = static_cast<TreeMissing>(bits >> 2);
      if ((bits & 1) != 0) {
        set_of(threshold[n], node, ensemble);
      } else {
        // x <= t is x < the next number.
        node.below = std::nextafter(threshold[n], std::numeric_limits<double>::infinity());
      }
      tree.nodes.push_back(node);
    }
  }

  void set_of(double index, TreeNode& node, TreeEnsemble& ensemble) const {
    if (!(index >= 0 && index + 1 < static_cast<double>(boundaries_.size())))
      file_.fail(fmt::format("{}: a split names set {}, there are {}", where_, index,
                             boundaries_.empty() ? 0 : boundaries_.size() - 1));
    const auto k = static_cast<std::size_t>(index);
    const double from = boundaries_[k], to = boundaries_[k + 1];
    if (!(from >= 0 && from <= to && to <= static_cast<double>(words_.size())))
      file_.fail(where_ + ": cat_boundaries must ascend within cat_threshold");
    std::vector<std::uint32_t> bits;
    for (auto i = static_cast<std::size_t>(from); i < static_cast<std::size_t>(to); ++i) {
      if (!(words_[i] >= 0 && words_[i] <= 4294967295.0))
        file_.fail(where_ + ": cat_threshold has a number that is not of 32 bits");
      bits.push_back(static_cast<std::uint32_t>(words_[i]));
    }
    node.set = static_cast<std::int32_t>(ensemble.sets.size());
    node.missing = TreeMissing::nan;
    node.missing_left = false;
    ensemble.sets.push_back(std::move(bits));
  }

  [[nodiscard]] std::int32_t whole(double value, const char* key) const {
    if (!(std::abs(value) < 2147483647.0) || value != std::floor(value))
      file_.fail(fmt::format("{}: {} has {}, must be a whole number", where_, key, value));
    return static_cast<std::int32_t>(value);
  }

  const LightgbmText& file_;
  const Entries& block_;
  std::string where_;
  std::vector<double> boundaries_, words_;
};

struct LightgbmModel {
  TreeFile trees;
  std::vector<LeafPlace> sizes;  // of tree_sizes
  std::vector<double> size;      // their numbers
};

LightgbmModel read_lightgbm(const LightgbmText& file) {
  const Entries& header = file.header();
  const Entry& version = file.entry(header, "version", "header");
  if (version.text != "v3" && version.text != "v4")
    file.refuse(
        fmt::format("version {} of the format; v3 and v4 are read", shorten(version.text)));
  const LightgbmObjective objective = lightgbm_objective(file);
  const double outputs = file.number(header, "num_tree_per_iteration", "header");
  const bool several = objective.link != Link::sigmoid;
  if (!(outputs >= 1 && outputs <= 100000) || outputs != std::floor(outputs) ||
      several != (outputs > 1))
    file.fail(fmt::format("num_tree_per_iteration is {} with this objective", outputs));
  LightgbmModel found;
  found.trees.link = objective.link;
  found.trees.ensemble.unknown_missing = true;
  found.trees.ensemble.base.assign(static_cast<std::size_t>(outputs), 0.0);
  found.trees.ensemble.inputs = lightgbm_inputs(file);
  found.trees.ensemble.monotone =
      lightgbm_monotone(file, found.trees.ensemble.inputs.size());
  found.size = file.numbers(header, "tree_sizes", "header", &found.sizes);
  const std::size_t trees = file.trees().size();
  if (trees == 0) file.refuse("it has no trees");
  if (found.size.size() != trees)
    file.fail(
        fmt::format("tree_sizes has {} numbers for {} trees", found.size.size(), trees));
  for (const double size : found.size)
    if (!(size >= 0 && size <= 1e15) || size != std::floor(size))
      file.fail(fmt::format("tree_sizes has {}, must be counts", size));
  const auto each = static_cast<std::size_t>(outputs);
  const double rounds = static_cast<double>(trees / each);
  if (trees % each != 0) file.fail(fmt::format("{} trees for {} classes", trees, each));
  const double scale = objective.scale / (header.contains("average_output") ? rounds : 1.0);
  for (std::size_t t = 0; t < trees; ++t)
    LightgbmTree(file, t).add(static_cast<std::int32_t>(t % each), scale, found.trees);
  return found;
}

FilePatch replaced(const LeafPlace& place, const std::string& text) {
  return {"",
          static_cast<Index>(place.begin),
          static_cast<Index>(place.end - place.begin),
          {text.begin(), text.end()}};
}

class LightgbmFile final : public ModelFile {
 public:
  explicit LightgbmFile(FileSet files) : ModelFile(std::move(files)) {
    const std::string source = path().filename().string();
    LightgbmModel found = read_lightgbm(LightgbmText(bytes(), source));
    leaves_ = found.trees.leaves;
    sizes_ = std::move(found.sizes);
    size_ = std::move(found.size);
    for (std::size_t t = 0; t < found.trees.ensemble.trees.size(); ++t)
      tree_of_.insert(tree_of_.end(), at(found.trees.ensemble.trees[t].leaves()), t);
    model_ = tree_model(std::move(found.trees), source);
  }
  [[nodiscard]] const Model& model() const override { return model_; }
  [[nodiscard]] std::string format() const override { return "LightGBM text"; }
  [[nodiscard]] Patch patch(const Model& changed) const override {
    Patch patch;
    std::vector<double> size = size_;
    std::vector<FilePatch> values;
    for (const LeafChange& change : leaf_changes(leaves_, model_.theta, changed.theta)) {
      const LeafPlace& place = leaves_[change.leaf];
      const std::string text = fmt::format("{:.17g}", change.value);
      size[tree_of_[change.leaf]] +=
          static_cast<double>(text.size()) - static_cast<double>(place.end - place.begin);
      values.push_back(replaced(place, text));
    }
    for (std::size_t t = 0; t < size.size(); ++t)
      if (size[t] != size_[t])
        patch.ranges.push_back(replaced(sizes_[t], number_text(size[t])));
    patch.ranges.insert(patch.ranges.end(), values.begin(), values.end());
    return patch;
  }

 private:
  std::vector<LeafPlace> leaves_, sizes_;
  std::vector<double> size_;
  std::vector<std::size_t> tree_of_;
  Model model_;
};

}  // namespace

ModelFormat lightgbm_format() {
  return {"lightgbm",
          [](const std::filesystem::path&, std::span<const std::uint8_t> first) {
            const std::string_view text(reinterpret_cast<const char*>(first.data()),
                                        first.size());
            return text.starts_with("tree\n") || text.starts_with("tree\r\n");
          },
          [](FileSet files) -> std::unique_ptr<ModelFile> {
            return std::make_unique<LightgbmFile>(std::move(files));
          }};
}

}  // namespace fmd::internal
