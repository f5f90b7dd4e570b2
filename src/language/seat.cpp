#include "fmd/language/seat.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "core/index.h"
#include "core/json.h"
#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/core/hash.h"
#include "fmd/core/rng.h"
#include "fmd/core/safe_text.h"
#include "language/tokens/characters.h"

namespace fmd {
namespace {

constexpr Index kMostDivisions = 20000;

Matrix unit_rows(const Matrix& rows) {
  Matrix result = rows;
  for (Index i = 0; i < result.rows(); ++i) {
    const double norm = result.row(i).norm();
    if (norm > 0) result.row(i) /= norm;
  }
  return result;
}

// s of each row: how much nearer it is to A than to B.
std::vector<double> associations(const Matrix& rows, const Matrix& A, const Matrix& B) {
  const Matrix unit = unit_rows(rows);
  const Vector to_a = unit_rows(A).colwise().mean(), to_b = unit_rows(B).colwise().mean();
  std::vector<double> result;
  for (Index i = 0; i < unit.rows(); ++i)
    result.push_back(unit.row(i).dot(to_a) - unit.row(i).dot(to_b));
  return result;
}

// Number of ways to choose k of n; kMostDivisions + 1 where there are more.
Index ways_to_choose(Index n, Index k) {
  double ways = 1;
  for (Index i = 1; i <= k; ++i)
    ways *= static_cast<double>(n - k + i) / static_cast<double>(i);
  return ways > static_cast<double>(kMostDivisions) + .5
             ? kMostDivisions + 1
             : static_cast<Index>(std::llround(ways));
}

// Calls each(sum) for the sum over every choice of k entries.
template <typename Each>
void each_choice(const std::vector<double>& s, std::size_t k, const Each& each) {
  std::vector<std::size_t> chosen(k);
  std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  for (;;) {
    double sum = 0;
    for (const std::size_t i : chosen) sum += s[i];
    each(sum);
    std::size_t at = k;
    while (at > 0 && chosen[at - 1] == s.size() - k + at - 1) --at;
    if (at == 0) return;
    ++chosen[at - 1];
    for (std::size_t i = at; i < k; ++i) chosen[i] = chosen[i - 1] + 1;
  }
}

SeatTest::Set read_set(const nlohmann::json& file, const char* name,
                       const std::string& source) {
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorKind::bad_data, fmt::format("{}: \"{}\" {}", source, name, what),
                "a test has targ1, targ2, attr1 and attr2, each with its examples");
  };
  const auto set = file.is_object() ? file.find(name) : file.end();
  if (!file.is_object() || set == file.end() || !set->is_object()) refuse("is missing");
  const auto examples = set->find("examples");
  if (examples == set->end() || !examples->is_array() || examples->empty())
    refuse("has no examples");
  SeatTest::Set result;
  const auto category = set->find("category");
  result.category = category != set->end() && category->is_string()
                        ? category->get<std::string>()
                        : std::string(name);
  for (const auto& example : *examples) {
    if (!example.is_string() || example.get_ref<const std::string&>().empty())
      refuse("has an example that is no text");
    result.examples.push_back(example.get<std::string>());
  }
  return result;
}

}  // namespace

SeatTest parse_seat(std::string_view json, const std::string& source) {
  require_utf8(json, source);
  const auto file = parse_json(json, source, ErrorKind::bad_data);
  SeatTest test;
  test.file = source;
  test.sha256 =
      hex(sha256({reinterpret_cast<const std::uint8_t*>(json.data()), json.size()}));
  test.target1 = read_set(file, "targ1", source);
  test.target2 = read_set(file, "targ2", source);
  test.attribute1 = read_set(file, "attr1", source);
  test.attribute2 = read_set(file, "attr2", source);
  return test;
}

SeatTest read_seat(const std::filesystem::path& file) {
  const FileView view = FileView::open(file, Index{1} << 26);
  return parse_seat(view.text(), file.string());
}

SeatResult seat(const Matrix& X, const Matrix& Y, const Matrix& A, const Matrix& B,
                const Exec& exec) {
  for (const Matrix* set : {&X, &Y, &A, &B})
    if (set->rows() == 0 || set->cols() != X.cols())
      throw Error(ErrorKind::bad_shape, "seat: a set is empty or has another width");
  std::vector<double> s = associations(X, A, B);
  const std::vector<double> of_y = associations(Y, A, B);
  const auto nx = static_cast<double>(s.size()), ny = static_cast<double>(of_y.size());
  const double sum_x = std::accumulate(s.begin(), s.end(), 0.0),
               sum_y = std::accumulate(of_y.begin(), of_y.end(), 0.0);
  const std::size_t half = s.size();
  s.insert(s.end(), of_y.begin(), of_y.end());
  const double mean = (sum_x + sum_y) / (nx + ny);
  double squares = 0;
  for (const double value : s) squares += (value - mean) * (value - mean);
  const double sd = std::sqrt(squares / (nx + ny - 1));
  SeatResult result;
  result.effect =
      sd > 0 ? (sum_x / nx - sum_y / ny) / sd : std::numeric_limits<double>::quiet_NaN();
  // The total is the same for all divisions, so the sum of one half is enough. A division
  // that only differs by rounding counts as equal.
  const double least = sum_x - 1e-12 * (1 + std::abs(sum_x));
  Index hits = 0;
  result.exact = ways_to_choose(std::ssize(s), static_cast<Index>(half)) <= kMostDivisions;
  if (result.exact) {
    each_choice(s, half, [&](double sum) {
      ++result.divisions;
      hits += sum >= least ? 1 : 0;
    });
    result.p_value = static_cast<double>(hits) / static_cast<double>(result.divisions);
    return result;
  }
  result.divisions = kMostDivisions;
  for (Index r = 0; r < kMostDivisions; ++r) {
    Rng rng(exec.seed, "seat", static_cast<std::uint64_t>(r));
    const std::vector<Index> order = permutation(std::ssize(s), rng);
    double sum = 0;
    for (std::size_t i = 0; i < half; ++i) sum += s[at(order[i])];
    hits += sum >= least ? 1 : 0;
  }
  result.p_value = static_cast<double>(hits + 1) / static_cast<double>(kMostDivisions + 1);
  return result;
}

Matrix sentence_embeddings(const LanguageModel& model,
                           const std::vector<std::string>& sentences, const Exec& exec) {
  StatePlan plan;
  std::vector<Index> sentence_of;
  const bool causal = model.kind() == LanguageKind::causal;
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    const TokenIds tokens = model.tokenizer().encode(sentences[i]);
    if (tokens.empty())
      throw Error(ErrorKind::bad_data,
                  fmt::format("seat: \"{}\" has no tokens", safe_text(sentences[i])));
    TokenIds input{model.first_token()};
    input.insert(input.end(), tokens.begin(), tokens.end());
    if (!causal) input.push_back(*model.last_token());
    for (std::size_t k = 0; k < input.size(); ++k) {
      const bool own = k > 0 && k <= tokens.size();
      if (causal) {
        plan.nodes.push_back({k == 0 ? -1 : std::ssize(plan.nodes) - 1, input[k]});
      } else if (own) {
        plan.inputs.push_back(input);
        plan.position.push_back(static_cast<Index>(k));
      }
      if (causal || own) sentence_of.push_back(own ? static_cast<Index>(i) : -1);
    }
  }
  const FloatMatrix states = model.states(plan, exec);
  Matrix result = Matrix::Zero(std::ssize(sentences), model.cols());
  Vector tokens = Vector::Zero(std::ssize(sentences));
  for (Index r = 0; r < states.rows(); ++r) {
    const Index i = sentence_of[at(r)];
    if (i < 0) continue;
    result.row(i) += states.row(r).cast<double>();
    tokens[i] += 1;
  }
  for (Index i = 0; i < result.rows(); ++i) result.row(i) /= tokens[i];
  return result;
}

SeatResult seat(const LanguageModel& model, const SeatTest& test, const Exec& exec) {
  const auto embed = [&](const SeatTest::Set& set) {
    return sentence_embeddings(model, set.examples, exec);
  };
  return seat(embed(test.target1), embed(test.target2), embed(test.attribute1),
              embed(test.attribute2), exec);
}

}  // namespace fmd
