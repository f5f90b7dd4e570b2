#include "formats/onnx/onnx_trees.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "core/check.h"
#include "core/index.h"
#include "data/words.h"
#include "formats/tree_leaves.h"

namespace fmd::internal {
namespace {

constexpr double kMostCategory = 65535;
constexpr std::size_t kNoPlace = std::numeric_limits<std::size_t>::max();
const std::string kOnnxTreeScores =
    "score the data with ONNX Runtime and give the scores: fmd audit --scores FILE";

// What the classifier's numbers become.
struct OnnxTreeAnswer {
  Link link = Link::sigmoid;
  Index outputs = 1;
  bool mirrored = false;  // a leaf stores its value twice: as -v and as v
};

class OnnxTreeReader {
 public:
  OnnxTreeReader(const OnnxGraph& graph, std::span<const std::uint8_t> bytes)
      : graph_(graph), bytes_(bytes), left_(8 * bytes.size() + 1000000) {}

  void run() {
    find_classifier();
    check_ends();
    read_lists();
    find_classes();
    choose_answer();
    check_base();
    add_inputs();
    for (std::size_t first = 0; first < tree_.size();) {
      std::size_t end = first;
      while (end < tree_.size() && tree_[end] == tree_[first]) ++end;
      add_tree(first, end);
      first = end;
    }
    if (used_weights_ != weight_class_.size())
      wrong("class_weights belong to nodes that are no leaves");
  }

  TreeFile made;
  std::vector<std::size_t> mirror;   // of each leaf: where minus its value stands
  std::vector<std::string> classes;  // where they are texts
  OnnxTreeAnswer answer;
  std::string input;  // name of the model's input

 private:
  [[noreturn]] void wrong(const std::string& what) const {
    throw Error(ErrorKind::bad_model, fmt::format("{}: {}", graph_.source, what),
                "the file is damaged: export the model again");
  }
  [[noreturn]] void refuse(const std::string& what, const std::string& hint = "") const {
    throw Error(ErrorKind::unsupported, fmt::format("{}: {}", graph_.source, what),
                hint.empty() ? kOnnxTreeScores : hint);
  }

  void find_classifier() {
    for (const OnnxNode& node : graph_.nodes) {
      if (!node.full_op().starts_with("ai.onnx.ml.TreeEnsemble")) continue;
      if (node.op != "TreeEnsembleClassifier")
        refuse(fmt::format("its trees are a {}, fmd reads TreeEnsembleClassifier", node.op),
               "export the classifier with target_opset={\"\": 15, \"ai.onnx.ml\": 3}");
      if (node_ != nullptr) refuse("it has several sets of trees");
      node_ = &node;
    }
    if (node_->inputs.size() != 1 || node_->outputs.size() != 2)
      wrong("a TreeEnsembleClassifier has one input and two outputs");
    for (const OnnxAttribute& attribute : node_->attributes)
      if (attribute.name.ends_with("_as_tensor"))
        refuse("its trees have numbers of 64 bits",
               "export the model with numbers of 32 bits");
  }

  // The trees read the model's input as it is, and nothing but renaming comes after them.
  void check_ends() {
    std::set<const OnnxNode*> passed = {node_};
    std::string below = node_->inputs[0];
    for (bool found = true; found;) {
      found = false;
      for (const OnnxNode& node : graph_.nodes)
        if (std::find(node.outputs.begin(), node.outputs.end(), below) !=
            node.outputs.end()) {
          if ((node.op != "Identity" && node.op != "Cast") || passed.contains(&node))
            refuse(
                fmt::format("the operation {} comes before the trees",
                            shorten(node.full_op())),
                "export the trees alone, and give a table of the numbers that they read");
          if (node.op == "Cast") cast_ = true;
          passed.insert(&node);
          below = node.inputs.empty() ? "" : node.inputs[0];
          found = true;
          break;
        }
    }
    if (graph_.inputs.size() != 1 || graph_.inputs[0].name != below)
      refuse("the trees do not read the model's only input");
    input = below;
    // A tensor and what it was renamed from.
    std::set<std::string> answers = {node_->outputs[1]}, labels = {node_->outputs[0]};
    for (const OnnxNode& node : graph_.nodes) {  // in order of their work
      if (passed.contains(&node) || node.outputs.empty() || node.inputs.empty()) continue;
      const bool of_answers = answers.contains(node.inputs[0]);
      if (!of_answers) {
        labels.insert(node.outputs.begin(), node.outputs.end());
        continue;
      }
      if (node.op != "Identity" && node.op != "Cast" && node.op != "ZipMap" &&
          !is_times_one(node))
        refuse(
            fmt::format("the operation {} comes after the trees", shorten(node.full_op())));
      answers.insert(node.outputs.begin(), node.outputs.end());
    }
    if (std::none_of(graph_.outputs.begin(), graph_.outputs.end(),
                     [&](const OnnxValue& one) { return answers.contains(one.name); }))
      refuse("the scores of the trees are no output of the model");
  }

  [[nodiscard]] bool is_times_one(const OnnxNode& node) const {
    if (node.op != "Mul" || node.inputs.size() != 2) return false;
    const auto found = graph_.tensors.find(node.inputs[1]);
    if (found == graph_.tensors.end() || found->second.type != kOnnxFloat) return false;
    const OnnxTensor& tensor = found->second;
    const FileSpan span =
        tensor.raw.size() > 0 || tensor.listed.empty() ? tensor.raw : tensor.listed[0];
    return tensor.elements() == 1 && span.size() == 4 && float_at(span.begin) == 1.0F;
  }

  [[nodiscard]] float float_at(std::size_t place) const {
    float value = 0;
    std::memcpy(&value, bytes_.data() + place, sizeof(value));
    return value;
  }

  const std::vector<std::int64_t>& ints(const char* name) const {
    static const std::vector<std::int64_t> none;
    const OnnxAttribute* found = node_->find(name);
    return found == nullptr ? none : found->ints;
  }

  // Where each number of a list stands.
  [[nodiscard]] std::vector<std::size_t> places(const char* name) const {
    std::vector<std::size_t> all;
    if (const OnnxAttribute* found = node_->find(name))
      for (const FileSpan& span : found->floats) {
        if (span.size() % 4 != 0) wrong(fmt::format("{} ends within a number", name));
        for (std::size_t i = span.begin; i < span.end; i += 4) all.push_back(i);
      }
    return all;
  }

  void read_lists() {
    tree_ = ints("nodes_treeids");
    id_ = ints("nodes_nodeids");
    feature_ = ints("nodes_featureids");
    yes_ = ints("nodes_truenodeids");
    no_ = ints("nodes_falsenodeids");
    tracks_ = ints("nodes_missing_value_tracks_true");
    if (tracks_.empty()) tracks_.resize(tree_.size());
    for (const std::size_t place : places("nodes_values"))
      value_.push_back(float_at(place));
    const OnnxAttribute* modes = node_->find("nodes_modes");
    if (modes != nullptr) modes_ = modes->strings;
    const auto require = [&](const char* name, std::size_t size) {
      if (size != tree_.size())
        wrong(fmt::format("{} has {} entries, nodes_treeids {}", name, size, tree_.size()));
    };
    require("nodes_nodeids", id_.size());
    require("nodes_featureids", feature_.size());
    require("nodes_truenodeids", yes_.size());
    require("nodes_falsenodeids", no_.size());
    require("nodes_missing_value_tracks_true", tracks_.size());
    require("nodes_values", value_.size());
    require("nodes_modes", modes_.size());
    if (tree_.empty()) refuse("it has no trees");
    std::set<std::int64_t> ended;
    for (std::size_t n = 1; n < tree_.size(); ++n)
      if (tree_[n] != tree_[n - 1] &&
          (!ended.insert(tree_[n - 1]).second || ended.contains(tree_[n])))
        wrong(fmt::format("the nodes of tree {} do not stand together", tree_[n]));
    weight_class_ = ints("class_ids");
    weight_tree_ = ints("class_treeids");
    weight_node_ = ints("class_nodeids");
    weight_place_ = places("class_weights");
    if (weight_tree_.size() != weight_class_.size() ||
        weight_node_.size() != weight_class_.size() ||
        weight_place_.size() != weight_class_.size())
      wrong(
          fmt::format("class_ids, class_treeids, class_nodeids and class_weights have {}, "
                      "{}, {} and {} entries",
                      weight_class_.size(), weight_tree_.size(), weight_node_.size(),
                      weight_place_.size()));
    weight_order_.resize(weight_class_.size());
    std::iota(weight_order_.begin(), weight_order_.end(), std::size_t{0});
    std::stable_sort(weight_order_.begin(), weight_order_.end(),
                     [&](std::size_t a, std::size_t b) {
                       return std::pair(weight_tree_[a], weight_node_[a]) <
                              std::pair(weight_tree_[b], weight_node_[b]);
                     });
    for (const std::size_t place : places("base_values")) base_.push_back(float_at(place));
    const OnnxAttribute* post = node_->find("post_transform");
    if (post != nullptr) post_ = post->s;
  }

  void find_classes() {
    if (const OnnxAttribute* texts = node_->find("classlabels_strings"))
      classes = texts->strings;
    count_ = classes.empty() ? ints("classlabels_int64s").size() : classes.size();
    if (count_ < 2 || count_ > 100000) refuse(fmt::format("it has {} classes", count_));
    for (const std::int64_t id : weight_class_)
      if (id < 0 || static_cast<std::size_t>(id) >= count_)
        wrong(fmt::format("a weight is of class {}, there are {}", id, count_));
  }

  void choose_answer() {
    const std::set<std::int64_t> used(weight_class_.begin(), weight_class_.end());
    const bool single = count_ == 2 && used.size() == 1;
    const bool none = post_ == "NONE";
    if (!none && post_ != "LOGISTIC" && post_ != "SOFTMAX")
      refuse(fmt::format("post_transform {} is not read", shorten(post_)));
    answer.outputs = single ? 1 : static_cast<Index>(count_);
    if (none) {
      answer.link = Link::identity;
      // With a negative weight the answer of one output is -z and z, no probability.
      if (std::any_of(weight_place_.begin(), weight_place_.end(),
                      [&](std::size_t place) { return !(float_at(place) >= 0); }))
        refuse("post_transform is NONE, and its weights are no probabilities");
    } else if (single) {
      if (post_ == "SOFTMAX") refuse("post_transform SOFTMAX of one output is not read");
      answer.link = Link::sigmoid;
    } else if (post_ == "SOFTMAX") {
      answer.link = Link::softmax;
    } else if (count_ == 2 && are_opposite()) {
      answer = {.link = Link::sigmoid, .outputs = 1, .mirrored = true};
    } else {
      answer.link = Link::one_vs_rest;
    }
  }

  // Every leaf has -v for class 0, then v for class 1.
  [[nodiscard]] bool are_opposite() const {
    if (weight_class_.size() % 2 != 0) return false;
    for (std::size_t i = 0; i < weight_class_.size(); i += 2)
      if (weight_class_[i] != 0 || weight_class_[i + 1] != 1 ||
          weight_tree_[i] != weight_tree_[i + 1] ||
          weight_node_[i] != weight_node_[i + 1] ||
          float_at(weight_place_[i]) != -float_at(weight_place_[i + 1]))
        return false;
    return base_.size() != 2 || base_[0] == -base_[1];
  }

  void check_base() {
    std::vector<double>& base = made.ensemble.base;
    base.assign(at(answer.outputs), 0.0);
    for (const double one : base_)
      if (!std::isfinite(one)) wrong("base_values has a number that is not finite");
    if (base_.empty()) return;
    if (answer.outputs == 1 && base_.size() <= 2 && !(answer.mirrored && base_.size() == 1))
      base[0] = base_.back();
    else if (base_.size() == base.size())
      base = base_;
    else
      wrong(fmt::format("base_values has {} numbers for {} outputs", base_.size(),
                        base.size()));
  }

  void add_inputs() {
    TreeEnsemble& trees = made.ensemble;
    made.link = answer.link;
    // A float is compared as it is; other numbers become floats by a Cast alone.
    trees.single = cast_ || graph_.inputs[0].type == kOnnxFloat;
    trees.whole_codes = true;
    trees.unnamed = true;
    std::int64_t columns = 0;
    const std::vector<Index>& dims = graph_.inputs[0].dims;
    if (dims.size() == 2 && dims[1] > 0) columns = dims[1];
    for (std::size_t n = 0; n < feature_.size(); ++n) {
      if (modes_[n] == "LEAF") continue;
      if (feature_[n] < 0 || feature_[n] >= 16777216 ||
          (dims.size() == 2 && dims[1] > 0 && feature_[n] >= dims[1]))
        wrong(fmt::format("a split on column {}, the input has {}", feature_[n], columns));
      columns = std::max(columns, feature_[n] + 1);
    }
    if (columns > static_cast<std::int64_t>(bytes_.size()) + 65536)
      wrong(fmt::format("{} columns are too many", columns));
    for (std::int64_t j = 0; j < columns; ++j)
      trees.inputs.push_back({.name = fmt::format("f{}", j), .levels = {}});
  }

  // The nodes [first, end) of one tree.
  void add_tree(std::size_t first, std::size_t end) {
    const std::string where = fmt::format("tree {}", tree_[first]);
    std::map<std::int64_t, std::size_t> number;
    for (std::size_t n = first; n < end; ++n)
      if (!number.emplace(id_[n], n).second)
        wrong(fmt::format("{}: two nodes have the number {}", where, id_[n]));
    const auto child = [&](std::int64_t id) {
      const auto found = number.find(id);
      if (found == number.end())
        wrong(fmt::format("{}: a split leads to node {}, which is not there", where, id));
      return found->second;
    };
    std::vector<bool> has_parent(end - first);
    for (std::size_t n = first; n < end; ++n)
      if (modes_[n] != "LEAF")
        for (const std::int64_t id : {yes_[n], no_[n]})
          has_parent[child(id) - first] = true;
    const auto root = std::find(has_parent.begin(), has_parent.end(), false);
    if (root == has_parent.end()) wrong(where + ": every node is below another");

    Tree tree;
    std::vector<std::size_t> leaves;  // nodes
    std::vector<bool> seen(end - first);
    const auto visit = [&](std::size_t n) {
      if (seen[n - first])
        refuse(fmt::format("{}: two splits lead to node {}", where, id_[n]));
      seen[n - first] = true;
    };
    struct Open {
      std::size_t node;
      std::int32_t parent;
      bool left;
    };
    std::vector<Open> open = {
        {first + static_cast<std::size_t>(root - has_parent.begin()), -1, false}};
    while (!open.empty()) {
      const auto [n, parent, is_left] = open.back();
      open.pop_back();
      visit(n);
      std::int32_t own = 0;
      if (modes_[n] == "LEAF") {
        leaves.push_back(n);
        own = -static_cast<std::int32_t>(leaves.size());
      } else {
        own = static_cast<std::int32_t>(tree.nodes.size());
        std::size_t last = n;  // of a chain of questions that have one answer
        const TreeNode node = split_at(n, where, last, [&](std::size_t at_node) {
          const std::size_t next = child(no_[at_node]);
          const bool same = modes_[next] == "BRANCH_EQ" && feature_[next] == feature_[n] &&
                            yes_[next] == yes_[n] && !seen[next - first];
          if (same) visit(next);
          return same ? next : kNoPlace;
        });
        tree.nodes.push_back(node);
        const bool yes_left = goes_left(modes_[n]);
        const std::size_t yes = child(yes_[n]), no = child(no_[last]);
        open.push_back({yes_left ? no : yes, own, false});
        open.push_back({yes_left ? yes : no, own, true});
      }
      if (parent >= 0)
        (is_left ? tree.nodes[at(parent)].left : tree.nodes[at(parent)].right) = own;
    }
    if (std::find(seen.begin(), seen.end(), false) != seen.end())
      wrong(where + ": has a node that no split leads to");
    add_leaves(std::move(tree), leaves, where);
  }

  static bool goes_left(const std::string& mode) {
    return mode != "BRANCH_GT" && mode != "BRANCH_GTE";
  }

  // The split of node n. more(node): the next question of the chain, or kNoPlace.
  template <typename More>
  TreeNode split_at(std::size_t n, const std::string& where, std::size_t& last,
                    const More& more) {
    const std::string& mode = modes_[n];
    TreeNode node;
    node.input = static_cast<std::int32_t>(feature_[n]);
    // A missing number answers every question with no, unless the node says otherwise.
    const bool missing_yes = tracks_[n] != 0 || mode == "BRANCH_NEQ";
    node.missing_left = missing_yes == goes_left(mode);
    if (std::isnan(value_[n])) wrong(where + ": a threshold is not a number");
    // x <= t is x < the next number of the kind that is compared.
    const double next = made.ensemble.single
                            ? static_cast<double>(std::nextafter(
                                  value_[n], std::numeric_limits<float>::infinity()))
                            : std::nextafter(static_cast<double>(value_[n]),
                                             std::numeric_limits<double>::infinity());
    if (mode == "BRANCH_LEQ" || mode == "BRANCH_GT") {
      node.below = next;
    } else if (mode == "BRANCH_LT" || mode == "BRANCH_GTE") {
      node.below = static_cast<double>(value_[n]);
    } else if (mode == "BRANCH_EQ" || mode == "BRANCH_NEQ") {
      std::vector<std::uint32_t> bits;
      add_category(n, where, bits);
      if (mode == "BRANCH_EQ")
        for (std::size_t other = more(n); other != kNoPlace; other = more(other)) {
          add_category(other, where, bits);
          if (tracks_[other] != 0) node.missing_left = true;
          last = other;
        }
      node.set = static_cast<std::int32_t>(made.ensemble.sets.size());
      node.set_left = mode == "BRANCH_EQ";
      made.ensemble.sets.push_back(std::move(bits));
    } else {
      wrong(fmt::format("{}: a split of kind {}", where, shorten(mode)));
    }
    return node;
  }

  void add_category(std::size_t n, const std::string& where,
                    std::vector<std::uint32_t>& bits) const {
    const auto value = static_cast<double>(value_[n]);
    if (!(value >= 0 && value <= kMostCategory) || value != std::floor(value))
      refuse(
          fmt::format("{}: asks whether a number is {}; fmd reads whole numbers from 0 "
                      "to {}",
                      where, value, kMostCategory));
    const auto c = static_cast<std::size_t>(value);
    if (bits.size() <= c / 32) bits.resize(c / 32 + 1);
    bits[c / 32] |= 1U << (c % 32);
  }

  // A copy of the tree for each class that its leaves have a weight for.
  void add_leaves(Tree tree, const std::vector<std::size_t>& leaves,
                  const std::string& where) {
    std::set<std::int64_t> used;
    for (const std::size_t leaf : leaves)
      for (const std::size_t i : weights_of(leaf)) used.insert(weight_class_[i]);
    if (answer.mirrored) used = {1};
    if (used.empty()) wrong(where + ": its leaves have no weights");
    for (const std::int64_t k : used) {
      const std::size_t size = tree.nodes.size() + leaves.size();
      if (size > left_) wrong("its leaves have weights for too many classes");
      left_ -= size;
      Tree copy = tree;
      copy.output = answer.outputs == 1 ? 0 : static_cast<std::int32_t>(k);
      copy.leaf_names.clear();
      for (const std::size_t leaf : leaves) {
        copy.leaf_names.push_back(static_cast<std::int32_t>(id_[leaf]));
        std::size_t place = kNoPlace, other = kNoPlace;
        for (const std::size_t i : weights_of(leaf)) {
          if (weight_class_[i] != k && !answer.mirrored) continue;
          std::size_t& to = weight_class_[i] == k ? place : other;
          if (to != kNoPlace)
            wrong(fmt::format("{}: node {} has two weights of a class", where, id_[leaf]));
          to = weight_place_[i];
          ++used_weights_;
        }
        // A class that is not listed has weight 0 there, and no place for another one.
        made.theta.push_back(place == kNoPlace ? 0 : static_cast<double>(float_at(place)));
        made.leaves.push_back({place, place == kNoPlace ? place : place + 4});
        mirror.push_back(answer.mirrored ? other : kNoPlace);
      }
      made.ensemble.trees.push_back(std::move(copy));
    }
  }

  // The entries of the weights that belong to a node.
  [[nodiscard]] std::span<const std::size_t> weights_of(std::size_t node) const {
    const std::pair own(tree_[node], id_[node]);
    const auto of = [&](std::size_t i) {
      return std::pair(weight_tree_[i], weight_node_[i]);
    };
    const auto first = std::partition_point(weight_order_.begin(), weight_order_.end(),
                                            [&](std::size_t i) { return of(i) < own; });
    const auto end = std::partition_point(first, weight_order_.end(),
                                          [&](std::size_t i) { return of(i) == own; });
    return {first, end};
  }

  const OnnxGraph& graph_;
  std::span<const std::uint8_t> bytes_;
  std::size_t left_;  // splits and leaves that may still be made
  const OnnxNode* node_ = nullptr;
  bool cast_ = false;
  std::vector<std::int64_t> tree_, id_, feature_, yes_, no_, tracks_;
  std::vector<float> value_;
  std::vector<std::string> modes_;
  std::vector<std::int64_t> weight_class_, weight_tree_, weight_node_;
  std::vector<std::size_t> weight_place_;
  std::vector<double> base_;
  std::string post_ = "NONE";
  std::size_t count_ = 0;
  std::vector<std::size_t> weight_order_;  // entries by tree and node
  std::size_t used_weights_ = 0;
};

class OnnxTreeFile final : public ModelFile {
 public:
  OnnxTreeFile(FileSet files, OnnxGraph graph)
      : ModelFile(std::move(files)), producer_(std::move(graph.producer)) {
    OnnxTreeReader reader(graph, bytes());
    reader.run();
    leaves_ = reader.made.leaves;
    mirror_ = std::move(reader.mirror);
    input_ =
        fmt::format("{}  {} numbers", reader.input, reader.made.ensemble.inputs.size());
    model_ = tree_model(std::move(reader.made), graph.source);
    model_.task.classes = std::move(reader.classes);
  }
  [[nodiscard]] const Model& model() const override { return model_; }
  [[nodiscard]] std::string format() const override { return "ONNX"; }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> details() const override {
    std::vector<std::pair<std::string, std::string>> lines;
    if (!producer_.empty()) lines.emplace_back("graph", "made by " + producer_);
    lines.emplace_back("input", input_);
    lines.emplace_back("names",
                       "the file has none: columns are f0, f1, ..., or those of [[inputs]] "
                       "columns = [...] in task.toml");
    if (model_.head->link() == Link::identity)
      lines.emplace_back(
          "leaves",
          "fractions of classes, whose mean is the answer: predict and audit "
          "read them, explain and debias do not");
    return lines;
  }
  [[nodiscard]] Patch patch(const Model& changed) const override {
    Patch patch;
    const auto add = [&](std::size_t place, float value) {
      Bytes raw(sizeof(value));
      std::memcpy(raw.data(), &value, sizeof(value));
      patch.ranges.push_back({"", static_cast<Index>(place), 4, std::move(raw)});
    };
    for (const LeafChange& change : leaf_changes(leaves_, model_.theta, changed.theta)) {
      const LeafPlace& place = leaves_[change.leaf];
      const auto value = static_cast<float>(change.value);
      if (!std::isfinite(value))
        throw Error(ErrorKind::numerical, "the value of a leaf is too large for the file",
                    "nothing was written: try another method or candidate");
      if (model_.head->link() == Link::identity && !(value >= 0 && value <= 1))
        throw Error(ErrorKind::unsupported,
                    fmt::format("the fraction of a leaf of a forest would be {}", value),
                    "a fraction stays between 0 and 1: nothing was written");
      if (place.begin == kNoPlace)
        throw Error(ErrorKind::unsupported,
                    "the file has no place for the weight of a leaf that is 0",
                    "export the model again with all class weights");
      add(place.begin, value);
      if (mirror_[change.leaf] != kNoPlace) add(mirror_[change.leaf], -value);
    }
    std::sort(patch.ranges.begin(), patch.ranges.end(),
              [](const FilePatch& a, const FilePatch& b) { return a.offset < b.offset; });
    return patch;
  }

 private:
  std::string producer_, input_;
  std::vector<LeafPlace> leaves_;
  std::vector<std::size_t> mirror_;
  Model model_;
};

}  // namespace

bool has_onnx_trees(const OnnxGraph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const OnnxNode& node) {
    return node.full_op().starts_with("ai.onnx.ml.TreeEnsemble");
  });
}

std::unique_ptr<ModelFile> open_onnx_trees(FileSet files, OnnxGraph graph) {
  return std::make_unique<OnnxTreeFile>(std::move(files), std::move(graph));
}

}  // namespace fmd::internal
