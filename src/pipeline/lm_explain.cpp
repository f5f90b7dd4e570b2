#include "fmd/pipeline/lm_explain.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "core/check.h"
#include "core/index.h"
#include "core/json.h"
#include "fmd/data/csv.h"
#include "fmd/language/head_refit.h"
#include "fmd/language/head_study.h"

namespace fmd {
namespace {

// What the command works on, and the head at which the influence is measured.
struct ExplainedHead {
  const LanguageModel& model;
  PrefixStates text;
  HeadStudy study;
  std::vector<HeadPair> pairs;
  HeadCurvature curvature;  // of the head as it came
  HeadRefitOptions refit;
  Matrix fitted;  // 0 x 0: the head as it came

  [[nodiscard]] FloatMatrix moved(const FloatMatrix& states, const Matrix& M) const {
    return changed_states(states, {.M = M, .shift = {}});
  }
  [[nodiscard]] double preference(const Matrix& M, const Exec& exec) const {
    return gradients(M, exec).r.mean();
  }
  // r and J in M, of the states that M multiplies.
  [[nodiscard]] PairGradients gradients(const Matrix& M, const Exec& exec) const {
    const FloatMatrix at_head = moved(study.states.states, M);
    const HeadOutputs outputs = head_outputs(model.head(), at_head, true, exec);
    PairGradients found = pair_gradients(model.head(), at_head, outputs, pairs);
    const PairGradients plain =
        pair_gradients(model.head(), study.states.states, outputs, pairs);
    found.v = plain.v;
    return found;
  }
  [[nodiscard]] Vector influence(const Exec& exec) const {
    const HeadOutputs outputs =
        head_outputs(model.head(), moved(text.states, fitted), true, exec);
    HeadCurvature here = curvature;
    if (fitted.size() != 0) {
      here = head_curvature(model.head(), moved(text.states, fitted), 1e-9, exec);
      here.A = curvature.A;
      here.F += refit.ridge * curvature.F;
    }
    const PairGradients of_pairs = gradients(fitted, exec);
    const Vector mean =
        Vector::Constant(of_pairs.pairs(), 1 / static_cast<double>(of_pairs.pairs()));
    return sentence_influence(here, of_pairs.sum(mean), model.head(), text.states, outputs,
                              text.sequences);
  }
  [[nodiscard]] HeadRefit fit(std::optional<std::size_t> left_out, const Exec& exec) const {
    return refit_head(model.head(), text.states, text.sequences, left_out, curvature,
                      fitted, refit, exec);
  }
};

double explained_correlation(Vector a, Vector b) {
  if (a.size() < 3) return std::nan("");
  a.array() -= a.mean();
  b.array() -= b.mean();
  return a.dot(b) / (a.norm() * b.norm());
}

Vector explained_ranks(const Vector& values) {
  std::vector<Index> order(at(values.size()));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](Index a, Index b) { return values[a] < values[b]; });
  Vector ranks(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) ranks[order[i]] = static_cast<double>(i);
  return ranks;
}

// Pieces from the start, until there are enough tokens.
std::vector<std::string> first_pieces(const LanguageModel& model,
                                      const std::filesystem::path& file, Index most,
                                      std::vector<std::string>& notes) {
  std::vector<std::string> taken;
  Index tokens = 0, too_long = 0;
  for (std::string& piece : text_pieces(file)) {
    const auto size = std::ssize(model.tokenizer().encode(piece));
    if (size + 2 > model.context()) {
      ++too_long;
      continue;
    }
    if (tokens >= most) {
      notes.push_back(
          fmt::format("{} has more text than --text-tokens {}: the rest was "
                      "not read",
                      file.filename().string(), most));
      break;
    }
    tokens += size;
    taken.push_back(std::move(piece));
  }
  if (too_long > 0)
    notes.push_back(
        fmt::format("{} pieces are longer than the context: left out", too_long));
  if (taken.size() < 2)
    throw Error(ErrorKind::bad_data,
                fmt::format("{}: the text has fewer than two sentences", file.string()),
                "give more text: --text FILE");
  return taken;
}

// Sentences spread over the whole order of influence, both ends included.
std::vector<std::size_t> spread_sentences(std::size_t count, Index wanted) {
  const auto most = std::min<std::size_t>(at(wanted), count);
  std::vector<std::size_t> chosen;
  for (std::size_t k = 0; k < most; ++k)
    chosen.push_back(most == 1 ? 0 : k * (count - 1) / (most - 1));
  return chosen;
}

void refit_some(const ExplainedHead& head, const std::vector<std::size_t>& order,
                LmExplainReport& r, const Exec& exec) {
  const double before = head.preference(head.fitted, exec);
  const std::vector<std::size_t> chosen = spread_sentences(order.size(), r.options.refits);
  Vector predicted(std::ssize(chosen)), real(std::ssize(chosen));
  Index slow = 0;
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    const HeadRefit fit = head.fit(order[chosen[k]], exec);
    slow += fit.size > 10 * head.refit.residual ? 1 : 0;
    LmExplained& sentence = r.sentence[chosen[k]];
    sentence.refit = head.preference(fit.M, exec) - before;
    predicted[static_cast<Index>(k)] = sentence.influence;
    real[static_cast<Index>(k)] = *sentence.refit;
    exec.report("refits", static_cast<Index>(k) + 1, std::ssize(chosen));
  }
  if (slow > 0)
    r.notes.push_back(fmt::format("{} refits ended before their gradient was small", slow));
  r.correlation = explained_correlation(predicted, real);
  r.rank_correlation =
      explained_correlation(explained_ranks(predicted), explained_ranks(real));
}

}  // namespace

LmExplainReport lm_explain(const std::filesystem::path& path,
                           const std::filesystem::path& pairs,
                           const std::filesystem::path& text,
                           const LmExplainOptions& options, const Exec& exec) {
  require_option(options.refits >= 0, "lm explain", "refits", options.refits, ">= 0");
  require_option(options.text_tokens > 0, "lm explain", "text-tokens", options.text_tokens,
                 "> 0");
  SentenceItems items = read_sentence_items(pairs);
  if (!options.domain.empty())
    std::erase_if(items.items, [&](const SentenceItem& item) {
      return item.domain != options.domain &&
             !item.domain.starts_with(options.domain + "-");
    });
  if (items.items.empty())
    throw Error(ErrorKind::bad_data,
                fmt::format("{}: there is no pair of the domain {}", pairs.string(),
                            options.domain),
                "leave --domain out, or name one that the file has");
  const LanguageModel model = LanguageModel::open(path, {}, exec);
  LmExplainReport r;
  const std::vector<std::string> lines =
      first_pieces(model, text, options.text_tokens, r.notes);
  ExplainedHead head{
      .model = model,
      .text = prefix_states(model, plan_text(model, lines), options.cache, exec),
      .study = head_study(model, std::move(items), options.cache, exec),
      .pairs = {},
      .curvature = {},
      .refit = {.ridge = options.ridge, .residual = 1e-4, .rounds = 1000},
      .fitted = {}};
  head.pairs = head_pairs(head.study);
  head.curvature = head_curvature(model.head(), head.text.states, options.damping, exec);
  r.refitted = options.refits > 0;
  if (r.refitted) {
    head.fitted = head.fit(std::nullopt, exec).M;
    const Index tokens = head.curvature.states, free = model.cols() * model.cols();
    if (static_cast<double>(tokens) * options.ridge < static_cast<double>(free) / 2)
      r.notes.push_back(
          fmt::format("the refits fit {} numbers to {} states: with more text "
                      "or a larger --ridge they say more",
                      free, tokens));
  }
  const Vector influence = head.influence(exec);
  std::vector<std::size_t> order(lines.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return influence[static_cast<Index>(a)] > influence[static_cast<Index>(b)];
  });
  for (const std::size_t k : order)
    r.sentence.push_back({.piece = static_cast<Index>(k) + 1,
                          .text = lines[k],
                          .influence = influence[static_cast<Index>(k)],
                          .refit = {}});
  r.model = model.name();
  r.pairs_file = pairs.filename().string();
  r.text_file = text.filename().string();
  r.domain = options.domain;
  r.pairs = std::ssize(head.pairs);
  r.sentences = std::ssize(lines);
  for (const ScoredSequence& s : head.text.sequences) r.tokens += std::ssize(s);
  r.preference = head.preference(head.fitted, exec);
  r.options = options;
  r.seed = exec.seed;
  if (r.refitted) refit_some(head, order, r, exec);
  return r;
}

std::string to_json(const LmExplainReport& r) {
  using Json = nlohmann::ordered_json;
  Json sentences = Json::array();
  for (const LmExplained& s : r.sentence)
    sentences.push_back({{"piece", s.piece},
                         {"influence", s.influence},
                         {"refit", s.refit ? Json(*s.refit) : Json(nullptr)},
                         {"text", s.text}});
  const auto finite = [](double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); };
  return json_lines(
      Json{{"schema", 1},
           {"command", "lm explain"},
           {"model", r.model},
           {"pairs_file", r.pairs_file},
           {"text_file", r.text_file},
           {"domain", r.domain.empty() ? Json(nullptr) : Json(r.domain)},
           {"pairs", r.pairs},
           {"sentences", r.sentences},
           {"tokens", r.tokens},
           {"preference", r.preference},
           {"fitted_to_the_text", r.refitted},
           {"refits", r.refitted ? Json{{"correlation", finite(r.correlation)},
                                        {"rank_correlation", finite(r.rank_correlation)}}
                                 : Json(nullptr)},
           {"damping", r.options.damping},
           {"ridge", r.refitted ? Json(r.options.ridge) : Json(nullptr)},
           {"ranked", sentences},
           {"notes", r.notes}});
}

std::string lm_explain_csv(const LmExplainReport& r) {
  std::string csv = "piece,influence,refit,text\n";
  for (const LmExplained& s : r.sentence)
    csv += fmt::format("{},{:.9g},{},{}\n", s.piece, s.influence,
                       s.refit ? fmt::format("{:.9g}", *s.refit) : "", csv_cell(s.text));
  return csv;
}

Sheet sheet_of(const LmExplainReport& r) {
  static const SheetColumns columns =
      sheet_columns("  {influence:>10} {refit:>10}  {sentence:53~}");
  Sheet sheet;
  SheetSection& what = sheet.add("PREFERENCE", "");
  what.line("  ", fmt::format("{}: {} of {} pairs{} prefers the stereotype by {:+.4f} per "
                              "token (mean log p){}",
                              r.model, "the mean", r.pairs,
                              r.domain.empty() ? "" : " (" + r.domain + ")", r.preference,
                              r.refitted ? ", after the head was fitted to the text" : ""));
  const auto rows = [&](SheetSection& s, bool first) {
    s.table(columns);
    const auto count = std::min(at(r.options.shown), r.sentence.size() / 2);
    for (std::size_t k = 0; k < count; ++k) {
      const LmExplained& e = r.sentence[first ? k : r.sentence.size() - 1 - k];
      s.row(columns, {fmt::format("{:+.1e}", e.influence),
                      e.refit ? fmt::format("{:+.1e}", *e.refit) : "-", e.text});
    }
  };
  rows(sheet.add("AGAINST IT", "without such a sentence the preference would be larger"),
       true);
  rows(sheet.add("BEHIND IT", "without such a sentence the preference would be smaller"),
       false);
  SheetSection& notes = sheet.add("HOW SURE", "");
  if (r.refitted)
    notes.line("  ", fmt::format("refits of the head without a sentence agree with r = "
                                 "{:.2f}, rank correlation {:.2f}",
                                 r.correlation, r.rank_correlation));
  notes.line("  ",
             "Of the text that was given, in the head alone. What the layers below "
             "have learned from which sentence is not measured.");
  for (const std::string& note : r.notes) notes.line("  ", note);
  return sheet;
}

}  // namespace fmd
