#include "fmd/model/tree_backbone.h"

#include <algorithm>
#include <numeric>

#include "core/check.h"
#include "core/index.h"
#include "fmd/core/bytes.h"
#include "fmd/core/safe_text.h"
#include "model/trees/tree_runner.h"

namespace fmd {

struct TreeBackbone::Runner {
  TreeRunner runner;
  std::vector<std::int32_t> all;  // trees
};

namespace {

void put(const TreeNode& node, ByteWriter& out) {
  for (const std::int32_t value : {node.input, node.left, node.right, node.set})
    out.put(value);
  out.put(node.below);
  out.put(static_cast<std::uint8_t>(node.missing));
  out.put(static_cast<std::uint8_t>((node.missing_left ? 1 : 0) + (node.set_left ? 2 : 0)));
}

void put_hashes(const TreeEnsemble& ensemble, ByteWriter& out) {
  for (const TreeHashes& hashes : ensemble.hashes) {
    out.put_array(std::span<const std::int32_t>(hashes.known));
    out.put_text(hashes.missing ? "counts as " + *hashes.missing : "is an error");
  }
  for (const TreeStatistic& statistic : ensemble.statistics) {
    out.put_array(std::span<const std::int32_t>(statistic.categories));
    out.put(std::ssize(statistic.above));
    for (const TreeStatistic::Above& part : statistic.above) {
      out.put(part.input);
      out.put(part.border);
      out.put(static_cast<std::uint8_t>(part.missing_above));
    }
    out.put(std::ssize(statistic.equal));
    for (const TreeStatistic::Equal& part : statistic.equal) {
      out.put(part.input);
      out.put(part.hash);
    }
    out.put(statistic.keys);
    out.put_array(std::span<const float>(statistic.values));
    out.put(static_cast<double>(statistic.otherwise));
  }
  for (const std::vector<std::uint64_t>& keys : ensemble.keys)
    out.put_array(std::span<const std::uint64_t>(keys));
}

Hash hash_of(const TreeEnsemble& ensemble) {
  ByteWriter out;
  out.put_text("trees");
  for (const InputColumn& input : ensemble.inputs) {
    out.put_text(input.name);
    out.put(static_cast<std::int32_t>(input.kind));
    out.put(std::ssize(input.levels));
    for (const std::string& level : input.levels) out.put_text(level);
  }
  for (const Tree& tree : ensemble.trees) {
    out.put(tree.output);
    out.put(tree.leaves());
    out.put(std::ssize(tree.nodes));
    for (const TreeNode& node : tree.nodes) put(node, out);
  }
  for (const std::vector<std::uint32_t>& set : ensemble.sets)
    out.put_array(std::span<const std::uint32_t>(set));
  out.put_array(std::span<const double>(ensemble.base));
  if (!ensemble.hashes.empty()) put_hashes(ensemble, out);
  out.put(static_cast<std::uint8_t>((ensemble.single ? 1 : 0) +
                                    (ensemble.unknown_missing ? 2 : 0) +
                                    (ensemble.whole_codes ? 4 : 0)));
  return sha256(out.bytes());
}

InputSchema schema_of(const TreeEnsemble& ensemble) {
  InputSchema inputs{.columns = ensemble.inputs, .tensors = {}};
  std::vector<InputColumn>& columns = inputs.columns;
  for (InputColumn& column : columns) column.read = false;
  for (const Tree& tree : ensemble.trees)
    for (const TreeNode& node : tree.nodes) columns[at(node.input)].read = true;
  for (std::size_t s = 0; s < ensemble.statistics.size(); ++s)
    if (columns[ensemble.columns() + s].read)
      for (const std::int32_t input : ensemble.statistics[s].inputs())
        columns[at(input)].read = true;
  columns.resize(ensemble.columns());
  return inputs;
}

std::vector<double> repeated(const std::vector<double>& base, Index rows) {
  std::vector<double> offset;
  offset.reserve(at(rows) * base.size());
  for (Index i = 0; i < rows; ++i) offset.insert(offset.end(), base.begin(), base.end());
  return offset;
}

// As many entries in each row as there are trees.
CsrRows empty_rows(const TreeEnsemble& ensemble, Index rows) {
  const Index trees = std::ssize(ensemble.trees);
  CsrRows csr;
  csr.cols = ensemble.leaves();
  csr.column.resize(at(rows * trees));
  csr.start.resize(at(rows) + 1);
  for (Index i = 0; i <= rows; ++i) csr.start[at(i)] = i * trees;
  return csr;
}

std::unique_ptr<Features> with_base(CsrRows csr, const std::vector<double>& base) {
  const Index rows = csr.rows();
  return make_offset(make_sparse(std::move(csr)), repeated(base, rows), std::ssize(base));
}

}  // namespace

TreeBackbone::TreeBackbone(TreeEnsemble ensemble, const std::string& source)
    : ensemble_(std::move(ensemble)) {
  check_trees(ensemble_, source);
  inputs_ = schema_of(ensemble_);
  hash_ = hash_of(ensemble_);
  std::vector<std::int32_t> all(ensemble_.trees.size());
  std::iota(all.begin(), all.end(), 0);
  runner_ = std::make_unique<const Runner>(Runner{TreeRunner(ensemble_), std::move(all)});
}

TreeBackbone::~TreeBackbone() = default;

Index TreeBackbone::cols() const { return ensemble_.leaves(); }

Sparsity TreeBackbone::sparsity() const {
  return {.entries = std::ssize(ensemble_.trees), .ones = true};
}

std::unique_ptr<Features> TreeBackbone::features(const Inputs& inputs,
                                                 std::span<const Index> rows,
                                                 const Exec& exec) const {
  const TreeColumns columns(ensemble_, inputs_, *inputs.table);
  const Index count = rows.empty() ? inputs.rows() : std::ssize(rows);
  const Index trees = std::ssize(ensemble_.trees);
  CsrRows csr = empty_rows(ensemble_, count);
  exec.for_each(block_count(count), [&](Index b) {
    const Index first = b * kBlockRows, size = std::min(kBlockRows, count - first);
    std::vector<Index> own(at(size));
    if (rows.empty())
      std::iota(own.begin(), own.end(), first);
    else
      std::copy_n(rows.begin() + first, size, own.begin());
    runner_->runner.run(columns, own, runner_->all, csr.column.data() + first * trees,
                        trees);
  });
  return with_base(std::move(csr), ensemble_.base);
}

std::unique_ptr<Features> TreeBackbone::flipped(const Inputs* inputs, const Features& X,
                                                const Attribute& attribute,
                                                const PairPlan& plan,
                                                const Exec& exec) const {
  // A caller may have the features of some rows alone: then all trees are run.
  if (inputs == nullptr || inputs->rows() != X.rows())
    return Backbone::flipped(inputs, X, attribute, plan, exec);
  std::vector<std::int32_t> again;
  const std::vector<bool> below = leaves_below(ensemble_, attribute.columns);
  const std::vector<Index> first_leaf = ensemble_.first_leaves();
  for (std::size_t t = 0; t < ensemble_.trees.size(); ++t)
    if (std::find(below.begin() + first_leaf[t], below.begin() + first_leaf[t + 1], true) !=
        below.begin() + first_leaf[t + 1])
      again.push_back(static_cast<std::int32_t>(t));

  const Table changed = flipped_rows(*inputs->table, attribute, plan);
  const TreeColumns columns(ensemble_, inputs_, changed);
  const Index count = plan.size(), trees = std::ssize(ensemble_.trees);
  CsrRows csr = empty_rows(ensemble_, count);
  exec.for_each(block_count(count), [&](Index b) {
    const Index first = b * kBlockRows, size = std::min(kBlockRows, count - first);
    Scratch scratch;
    const FeatureBlock block =
        X.gather(std::span(plan.row).subspan(at(first), at(size)), scratch);
    std::copy_n(block.column.begin() + block.start[0], size * trees,
                csr.column.begin() + first * trees);
    std::vector<Index> own(at(size));
    std::iota(own.begin(), own.end(), first);
    const Index stride = std::ssize(again);
    std::vector<std::int32_t> leaves(at(size * stride));
    runner_->runner.run(columns, own, again, leaves.data(), stride);
    for (Index i = 0; i < size; ++i)
      for (Index k = 0; k < stride; ++k)
        csr.column[at((first + i) * trees + again[at(k)])] = leaves[at(i * stride + k)];
  });
  return with_base(std::move(csr), ensemble_.base);
}

std::shared_ptr<const Backbone> TreeBackbone::with_inputs(
    const std::vector<InputSpec>& specs, const InputFiles& files) const {
  if (specs.empty() || !ensemble_.unnamed) return Backbone::with_inputs(specs, files);
  TreeEnsemble named = ensemble_;
  const std::vector<std::string>& names = specs[0].columns;
  if (specs.size() != 1 || names.size() != named.columns())
    throw Error(ErrorKind::bad_task,
                fmt::format("[[inputs]] names {} columns, the model reads {}",
                            specs.size() == 1 ? names.size() : 0, named.columns()),
                "write one [[inputs]] with all columns in the order of the training");
  for (std::size_t j = 0; j < names.size(); ++j) {
    if (std::count(names.begin(), names.end(), names[j]) > 1)
      throw Error(
          ErrorKind::bad_task,
          fmt::format("[[inputs]] names the column \"{}\" twice", safe_text(names[j])),
          "name each column once");
    named.inputs[j].name = names[j];
  }
  return std::make_shared<const TreeBackbone>(std::move(named), "[[inputs]]");
}

std::unique_ptr<Features> TreeBackbone::of_kept(std::unique_ptr<Features> X,
                                                const Exec&) const {
  const Index rows = X->rows();
  return make_offset(std::move(X), repeated(ensemble_.base, rows),
                     std::ssize(ensemble_.base));
}

const TreeEnsemble* trees_of(const Backbone& backbone) {
  const auto* own = dynamic_cast<const TreeBackbone*>(&backbone);
  return own == nullptr ? nullptr : &own->ensemble();
}

}  // namespace fmd
