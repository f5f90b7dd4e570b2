#include "language/llama.h"

#include <atomic>
#include <cmath>

#include "core/gemm.h"
#include "core/index.h"

namespace fmd::internal {
namespace {

using Nodes = std::vector<Index>;
constexpr Index kUnitNodes = 1024;

// Some nodes of a plan with all that stand before them.
struct Unit {
  Nodes nodes;               // numbers in the plan, parents before children
  std::vector<Index> local;  // parent of each, as a place in `nodes`; -1 = none
  std::vector<Index> depth;  // position of each token
  std::vector<bool> wanted;  // false: another unit gives its state
};

// The plan's nodes in the order of a walk through the tree: children follow their parent,
// so that neighbours share most of what stands before them.
Nodes walk_order(const StatePlan& plan) {
  const std::size_t count = plan.nodes.size();
  Nodes first_child(count, -1), next(count, -1), order;
  Index roots = -1;
  for (std::size_t k = count; k-- > 0;) {
    const Index parent = plan.nodes[k].parent;
    Index& head = parent < 0 ? roots : first_child[at(parent)];
    next[k] = head;
    head = static_cast<Index>(k);
  }
  order.reserve(count);
  Nodes stack;
  for (Index root = roots; root >= 0; root = next[at(root)]) {
    stack.push_back(root);
    while (!stack.empty()) {
      const Index node = stack.back();
      stack.pop_back();
      order.push_back(node);
      Nodes children;
      for (Index child = first_child[at(node)]; child >= 0; child = next[at(child)])
        children.push_back(child);
      stack.insert(stack.end(), children.rbegin(), children.rend());
    }
  }
  return order;
}

// Nodes of one unit: order[first, last) and their ancestors.
Unit unit_of(const StatePlan& plan, const Nodes& order, std::size_t first,
             std::size_t last) {
  Unit unit;
  std::map<Index, Index> place;
  const auto add = [&](Index node, bool wanted) {
    const Index parent = plan.nodes[at(node)].parent;
    const Index local = parent < 0 ? -1 : place.at(parent);
    place[node] = std::ssize(unit.nodes);
    unit.nodes.push_back(node);
    unit.local.push_back(local);
    unit.depth.push_back(local < 0 ? 0 : unit.depth[at(local)] + 1);
    unit.wanted.push_back(wanted);
  };
  for (std::size_t k = first; k < last; ++k) {
    Nodes missing;
    for (Index up = plan.nodes[at(order[k])].parent; up >= 0 && !place.contains(up);
         up = plan.nodes[at(up)].parent)
      missing.push_back(up);
    for (std::size_t m = missing.size(); m-- > 0;) add(missing[m], false);
    add(order[k], true);
  }
  return unit;
}

// Memory of one unit, used for every layer.
struct Room {
  FloatMatrix x, normal, query, key, value, mixed, gate, up, added;
};

void product(const FloatMatrix& rows, const FloatMatrix& weight, FloatMatrix& into) {
  into.resize(rows.rows(), weight.rows());
  gemm(As::is, As::transposed, rows.rows(), weight.rows(), rows.cols(),
       {rows.data(), rows.cols()}, {weight.data(), weight.cols()}, 0.0f,
       {into.data(), into.cols()});
}

void normalise(const FloatMatrix& x, const std::vector<float>& weight, double epsilon,
               FloatMatrix& into) {
  into.resize(x.rows(), x.cols());
  for (Index i = 0; i < x.rows(); ++i) {
    const float* row = x.data() + i * x.cols();
    float* out = into.data() + i * x.cols();
    double squares = 0;
    for (Index j = 0; j < x.cols(); ++j) squares += static_cast<double>(row[j]) * row[j];
    const auto scale = static_cast<float>(
        1 / std::sqrt(squares / static_cast<double>(x.cols()) + epsilon));
    for (Index j = 0; j < x.cols(); ++j) out[j] = row[j] * scale * weight[at(j)];
  }
}

// cos and sin of position x frequency, `half` of each for every depth that occurs.
struct Rotation {
  FloatMatrix cosine, sine;

  Rotation(const ModelConfig& config, Index positions)
      : cosine(positions, config.head_size / 2), sine(positions, config.head_size / 2) {
    for (Index p = 0; p < positions; ++p)
      for (Index i = 0; i < config.head_size / 2; ++i) {
        const double frequency =
            std::pow(config.rope_theta,
                     -2.0 * static_cast<double>(i) / static_cast<double>(config.head_size));
        cosine(p, i) = static_cast<float>(std::cos(static_cast<double>(p) * frequency));
        sine(p, i) = static_cast<float>(std::sin(static_cast<double>(p) * frequency));
      }
  }
};

void rotate(const Llama& model, const Rotation& rotation, const Unit& unit, Index heads,
            FloatMatrix& rows) {
  const Index size = model.config.head_size, half = size / 2;
  const Index step = model.adjacent_pairs ? 2 : 1, other = model.adjacent_pairs ? 1 : half;
  for (Index n = 0; n < rows.rows(); ++n) {
    const float* cosine = rotation.cosine.data() + unit.depth[at(n)] * half;
    const float* sine = rotation.sine.data() + unit.depth[at(n)] * half;
    for (Index h = 0; h < heads; ++h) {
      float* head = rows.data() + n * rows.cols() + h * size;
      for (Index i = 0; i < half; ++i) {
        const float a = head[i * step], b = head[i * step + other];
        head[i * step] = a * cosine[i] - b * sine[i];
        head[i * step + other] = b * cosine[i] + a * sine[i];
      }
    }
  }
}

// One head of one node: a mean of the values before it, weighted by the keys. The unrolled
// sums have a fixed order, so that the bits do not depend on the compiler's vectors.
void attend(const float* query, const std::vector<const float*>& keys,
            const std::vector<const float*>& values, Index size,
            std::vector<double>& weight, float* into) {
  const double scale = 1 / std::sqrt(static_cast<double>(size));
  double largest = -HUGE_VAL, total = 0;
  weight.resize(keys.size());
  for (std::size_t k = 0; k < keys.size(); ++k) {
    float sums[8] = {};
    Index i = 0;
    for (; i + 8 <= size; i += 8)
      for (Index u = 0; u < 8; ++u) sums[u] += query[i + u] * keys[k][i + u];
    double dot = 0;
    for (const float sum : sums) dot += sum;
    for (; i < size; ++i) dot += static_cast<double>(query[i]) * keys[k][i];
    weight[k] = dot * scale;
    largest = std::max(largest, weight[k]);
  }
  for (double& w : weight) total += w = std::exp(w - largest);
  std::fill(into, into + size, 0.0f);
  for (std::size_t k = 0; k < keys.size(); ++k) {
    const auto share = static_cast<float>(weight[k] / total);
    for (Index i = 0; i < size; ++i) into[i] += share * values[k][i];
  }
}

void attention(const Llama& model, const Unit& unit, Room& room) {
  const ModelConfig& c = model.config;
  const Index group = c.heads / c.key_heads;
  room.mixed.resize(room.query.rows(), room.query.cols());
  std::vector<const float*> keys, values;
  std::vector<double> weight;
  std::vector<Index> path;
  for (Index n = 0; n < room.query.rows(); ++n) {
    path.clear();
    for (Index up = n; up >= 0; up = unit.local[at(up)]) path.push_back(up);
    for (Index h = 0; h < c.heads; ++h) {
      const Index column = h / group * c.head_size;
      keys.clear();
      values.clear();
      for (std::size_t k = path.size(); k-- > 0;) {
        keys.push_back(room.key.data() + path[k] * room.key.cols() + column);
        values.push_back(room.value.data() + path[k] * room.value.cols() + column);
      }
      attend(room.query.data() + n * room.query.cols() + h * c.head_size, keys, values,
             c.head_size, weight,
             room.mixed.data() + n * room.mixed.cols() + h * c.head_size);
    }
  }
}

void run_layer(const Llama& model, const LlamaLayer& layer, const Rotation& rotation,
               const Unit& unit, Room& room) {
  const ModelConfig& c = model.config;
  normalise(room.x, layer.attention_norm, c.norm_epsilon, room.normal);
  product(room.normal, layer.query, room.query);
  product(room.normal, layer.key, room.key);
  product(room.normal, layer.value, room.value);
  rotate(model, rotation, unit, c.heads, room.query);
  rotate(model, rotation, unit, c.key_heads, room.key);
  attention(model, unit, room);
  product(room.mixed, layer.output, room.added);
  room.x += room.added;
  normalise(room.x, layer.network_norm, c.norm_epsilon, room.normal);
  product(room.normal, layer.gate, room.gate);
  product(room.normal, layer.up, room.up);
  float* gate = room.gate.data();
  const float* up = room.up.data();
  for (Index i = 0; i < room.gate.size(); ++i)
    gate[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
  product(room.gate, layer.down, room.added);
  room.x += room.added;
}

void run_unit(const Llama& model, const StatePlan& plan, const Unit& unit,
              FloatMatrix& states) {
  const Index rows = std::ssize(unit.nodes);
  Room room;
  room.x.resize(rows, model.config.cols);
  for (Index n = 0; n < rows; ++n)
    room.x.row(n) = model.embedding->row(plan.nodes[at(unit.nodes[at(n)])].token);
  const Index positions = 1 + *std::max_element(unit.depth.begin(), unit.depth.end());
  const Rotation rotation(model.config, positions);
  for (const LlamaLayer& layer : model.layers)
    run_layer(model, layer, rotation, unit, room);
  normalise(room.x, model.norm, model.config.norm_epsilon, room.normal);
  for (Index n = 0; n < rows; ++n)
    if (unit.wanted[at(n)]) states.row(unit.nodes[at(n)]) = room.normal.row(n);
}

}  // namespace

FloatMatrix llama_states(const Llama& model, const StatePlan& plan, const Exec& exec) {
  const Nodes order = walk_order(plan);
  const Index count = std::ssize(order);
  FloatMatrix states(count, model.config.cols);
  std::atomic<Index> done = 0;
  exec.for_each((count + kUnitNodes - 1) / kUnitNodes, [&](Index u) {
    const auto first = at(u * kUnitNodes), last = at(std::min(count, (u + 1) * kUnitNodes));
    run_unit(model, plan, unit_of(plan, order, first, last), states);
    exec.report("states", done += static_cast<Index>(last - first), count);
  });
  return states;
}

}  // namespace fmd::internal
