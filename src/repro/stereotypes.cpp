#include "repro/stereotypes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/core/safe_text.h"
#include "fmd/language/head_rivals.h"
#include "fmd/language/head_study.h"
#include "fmd/language/sentence_pairs.h"
#include "fmd/language/stereotype.h"

namespace fmd::repro {

// What all seeds of a case share.
struct StereotypeStage {
  std::unique_ptr<LanguageModel> model;
  HeadStudy items, crows;
  NeutralText text;
  HeadCurvature curvature;
  double curvature_seconds = 0;
  PairGradients gradients, crows_gradients;  // of the items, and of CrowS-Pairs
  Matrix kernel, crows_kernel, plain_kernel;
  double kernel_seconds = 0, crows_seconds = 0;
  SentenceScores vanilla;
  std::vector<HeadPair> crows_pairs;
  // Mean states of sentences: [group](sentence, d).
  std::vector<Matrix> embeddings;
  std::map<std::string, Measured> rows;  // that do not depend on the seed
};

namespace {

constexpr double kNoFigure = std::numeric_limits<double>::quiet_NaN();

// Does every sentence fit into the context, with these words in front?
bool fits(const LanguageModel& model, const SentenceItem& item,
          const std::string& question) {
  return std::all_of(item.sentences.begin(), item.sentences.end(), [&](const auto& s) {
    return std::ssize(model.tokenizer().encode(question + " " + s.text)) + 1 <=
           model.context();
  });
}

SentenceItems items_of(const std::filesystem::path& file, const LanguageModel& model,
                       const Settings& s) {
  const std::string domain = s.word("domain");
  const Index most = s.count("items");
  if (!std::filesystem::exists(file))
    throw Error(ErrorKind::missing_dataset,
                fmt::format("reproduce: there is no {}", file.string()),
                "put the data set there, or set FMD_DATA to the folder that has it");
  SentenceItems items = read_sentence_items(file);
  std::erase_if(items.items, [&](const SentenceItem& item) {
    return item.intersentence ||
           !(item.domain == domain || item.domain.starts_with(domain + "-")) ||
           !fits(model, item, "");
  });
  if (most > 0 && std::ssize(items.items) > most) {
    // Spread over the file, so that several terms are among them.
    std::vector<SentenceItem> some;
    for (Index k = 0; k < most; ++k)
      some.push_back(
          items.items[static_cast<std::size_t>(k * std::ssize(items.items) / most)]);
    items.items = std::move(some);
  }
  return items;
}

SwapWords words_of_case(const std::string& text) {
  std::string csv = text;
  std::replace(csv.begin(), csv.end(), ' ', '\n');
  return parse_swap_words(csv + "\n", "words of table4");
}

// Mean state of each sequence of a plan.
Matrix mean_states(const PrefixStates& plan) {
  Matrix means = Matrix::Zero(std::ssize(plan.sequences), plan.states.cols());
  for (std::size_t s = 0; s < plan.sequences.size(); ++s) {
    for (const ScoredToken& token : plan.sequences[s])
      means.row(static_cast<Index>(s)) += plan.states.row(token.state).cast<double>();
    means.row(static_cast<Index>(s)) /=
        std::max<double>(1, static_cast<double>(plan.sequences[s].size()));
  }
  return means;
}

std::vector<Matrix> embeddings_of(const LanguageModel& model,
                                  const std::filesystem::path& file, const SwapWords& words,
                                  Index most, const std::filesystem::path& cache,
                                  const Exec& exec) {
  std::vector<std::vector<std::string>> variants(words.groups.size());
  const FileView text = FileView::open(file, Index{1} << 28);
  std::istringstream in{std::string(text.text())};
  std::string line;
  while (std::getline(in, line) && std::ssize(variants[0]) < most) {
    if (valid_utf8(line) != line || line.size() > 200) continue;
    if (of_group(line, words, 0).words == 0) continue;
    for (std::size_t g = 0; g < variants.size(); ++g)
      variants[g].push_back(of_group(line, words, g).text);
  }
  if (std::ssize(variants[0]) < 2)
    throw Error(ErrorKind::bad_data,
                fmt::format("{}: fewer than two lines have a listed word", file.string()));
  std::vector<Matrix> means;
  for (const auto& lines : variants)
    means.push_back(mean_states(
        prefix_states(model, plan_text(model, lines),
                      cache.empty() ? std::nullopt : std::optional(cache), exec)));
  return means;
}

std::unique_ptr<StereotypeStage> make_stage(World& world, const Unit& unit,
                                            const Exec& exec) {
  auto stage = std::make_unique<StereotypeStage>();
  const Settings& s = unit.settings;
  const auto cache =
      world.features().empty() ? std::nullopt : std::optional(world.features());
  stage->model =
      std::make_unique<LanguageModel>(LanguageModel::open(world.model(), {}, exec));
  const LanguageModel& model = *stage->model;
  const auto items = [&](const char* file) {
    return items_of(world.folder() / file, model, s);
  };
  stage->items =
      head_study(model, items("stereoset/stereoset_dev_by_label.json"), cache, exec);
  stage->crows =
      head_study(model, items("crows_pairs/crows_pairs_anonymized.csv"), cache, exec);
  stage->text = neutral_text(model, world.folder() / s.word("text"), s.count("text_tokens"),
                             cache, exec);
  const Stopwatch curvature;
  stage->curvature = head_curvature(model.head(), stage->text.fit.states, .01, exec);
  stage->curvature_seconds = curvature.seconds();
  const auto gradients = [&](const HeadStudy& study) {
    const HeadOutputs outputs = head_outputs(model.head(), study.states.states, true, exec);
    return pair_gradients(model.head(), study.states.states, outputs, head_pairs(study));
  };
  const Stopwatch own;
  stage->gradients = gradients(stage->items);
  stage->kernel = pair_kernel(stage->curvature, stage->gradients, exec);
  stage->kernel_seconds = own.seconds();
  stage->plain_kernel =
      pair_kernel(metric_of(HeadMethod::plain, stage->curvature), stage->gradients, exec);
  const Stopwatch other;
  stage->crows_pairs = head_pairs(stage->crows);
  stage->crows_gradients = gradients(stage->crows);
  stage->crows_kernel = pair_kernel(stage->curvature, stage->crows_gradients, exec);
  stage->crows_seconds = other.seconds();
  stage->vanilla = study_scores(stage->items, model, {}, std::nullopt, exec);
  stage->embeddings = embeddings_of(model, world.folder() / s.word("sentences_file"),
                                    words_of_case(s.word("words")), s.count("sentences"),
                                    world.features(), exec);
  return stage;
}

// The figures of scores, beside those of vanilla.
Measured stereotype_row(const StereotypeStage& stage, const std::string& id,
                        const SentenceScores& scores, double ppl, double seconds,
                        const Exec& exec) {
  Exec same = exec;
  same.seed = 1;  // one bootstrap for all rows and seeds
  const StereotypeOptions options;
  const StereotypeFigures f =
      stereotype_scores(stage.items.items, scores, options, same).back().by_term;
  const Interval change =
      stereotype_changes(stage.items.items, stage.vanilla, scores, options, same)
          .back()
          .by_term.ss;
  Measured row{id, {}, "", true};
  row.value = {{"ss", f.ss.value},         {"lms", f.lms.value},
               {"icat", f.icat.value},     {"ppl", ppl},
               {"seconds", seconds},       {"ss_low", f.ss.low},
               {"ss_high", f.ss.high},     {"change", change.value},
               {"change_low", change.low}, {"change_high", change.high}};
  if (id != "vanilla" && change.low <= 0 && change.high >= 0)
    row.chosen = "not enough evidence of a change";
  return row;
}

Measured edited_row(const StereotypeStage& stage, const std::string& id,
                    const HeadChange& change, double seconds, const Exec& exec) {
  return stereotype_row(
      stage, id, study_scores(stage.items, *stage.model, change, std::nullopt, exec),
      text_perplexity(stage.text, *stage.model, change, exec), seconds, exec);
}

HeadChange projection_change(const Matrix& P) {
  return {.M = P - Matrix::Identity(P.rows(), P.cols()), .shift = {}};
}

// All variants below each other; the label is the group.
Matrix stacked(const std::vector<Matrix>& variants, std::vector<int>& label) {
  Matrix X(variants[0].rows() * std::ssize(variants), variants[0].cols());
  for (std::size_t g = 0; g < variants.size(); ++g) {
    X.middleRows(static_cast<Index>(g) * variants[0].rows(), variants[0].rows()) =
        variants[g];
    label.insert(label.end(), static_cast<std::size_t>(variants[0].rows()),
                 static_cast<int>(g));
  }
  return X;
}

Measured rival_row(const StereotypeStage& stage, const SpecRow& row, const Settings& s,
                   const Exec& exec) {
  std::vector<int> label;
  const Matrix X = stacked(stage.embeddings, label);
  const Stopwatch watch;
  HeadChange change;
  if (row.method == "inlp") {
    change = projection_change(
        inlp(X, label, static_cast<int>(s.count("inlp_rounds")), exec).projection);
  } else if (row.method == "sentdebias") {
    change =
        projection_change(projection_without(sentence_directions(stage.embeddings, 1)));
  } else {
    Matrix Z = Matrix::Zero(X.rows(), std::ssize(stage.embeddings));
    for (Index i = 0; i < X.rows(); ++i) Z(i, label[static_cast<std::size_t>(i)]) = 1;
    change = leace(X, Z);
  }
  return edited_row(stage, row.id, change, watch.seconds(), exec);
}

// The states of the items with the question in front, by the row of the plain state.
Measured self_debias_row(World& world, const StereotypeStage& stage, const SpecRow& row,
                         const Settings& s, const Exec& exec) {
  SentenceItems asked_items = stage.items.items;
  for (const SentenceItem& item : asked_items.items)
    if (!fits(*stage.model, item, s.word("question")))
      return {row.id, {}, "the question and a sentence do not fit into the context", true};
  for (SentenceItem& item : asked_items.items) {
    item.context = s.word("question") + " " + item.context;
    for (RoledSentence& sentence : item.sentences)
      sentence.text = s.word("question") + " " + sentence.text;
  }
  const auto cache =
      world.features().empty() ? std::nullopt : std::optional(world.features());
  const HeadStudy with = head_study(*stage.model, std::move(asked_items), cache, exec);
  const Stopwatch watch;
  FloatMatrix asked = stage.items.states.states;
  Index unlike = 0;
  for (std::size_t q = 0; q < stage.items.states.sequences.size(); ++q) {
    const ScoredSequence& plain = stage.items.states.sequences[q];
    const ScoredSequence& longer = with.states.sequences[q];
    const std::size_t skip = longer.size() - std::min(longer.size(), plain.size());
    for (std::size_t k = 0; k < plain.size() && skip + k < longer.size(); ++k) {
      // The first token has another id, because a blank stands before it.
      if (k > 0 && plain[k].token != longer[skip + k].token) ++unlike;
      asked.row(plain[k].state) = with.states.states.row(longer[skip + k].state);
    }
  }
  const auto log_p =
      self_debias(stage.model->head(), stage.items.states.states, asked,
                  stage.items.states.sequences, {.lambda = 50, .epsilon = .01}, exec);
  Measured done = stereotype_row(stage, row.id, sentence_scores(log_p, stage.model->kind()),
                                 kNoFigure, watch.seconds(), exec);
  if (unlike > 0) done.chosen += fmt::format(" ({} tokens are cut otherwise)", unlike);
  return done;
}

Measured cross_fitted_row(const StereotypeStage& stage, const SpecRow& row,
                          const Settings& s, const Exec& exec) {
  const bool plain = row.method == "plain";
  const std::vector<Index> item_of = paired_items(stage.items);
  const std::vector<Index>& groups = stage.gradients.group;
  const Index terms = std::ssize(std::set<Index>(groups.begin(), groups.end()));
  const int folds = usable_folds(terms, static_cast<int>(s.count("folds")));
  const std::vector<int> fold = group_folds(groups, folds, exec.seed);
  SentenceScores all = stage.vanilla;
  double seconds = stage.curvature_seconds + stage.kernel_seconds;
  double log_ppl = 0;
  std::string shares;
  for (int k = 0; k < folds; ++k) {
    std::vector<Index> others, mine;
    for (std::size_t i = 0; i < fold.size(); ++i)
      if (fold[i] == k)
        mine.push_back(item_of[i]);
      else
        others.push_back(static_cast<Index>(i));
    const Stopwatch watch;
    // The control has the share of the step, so that only the curvature differs.
    HeadEditOptions options;
    const PairGradients some = some_pairs(stage.gradients, others);
    HeadEdit edit =
        edit_head(stage.curvature, some, some_pairs(stage.kernel, others), options, exec);
    if (plain) {
      options = {.method = HeadMethod::plain, .shares = {edit.value}, .max_kl = 1e9};
      edit = edit_head(stage.curvature, some, some_pairs(stage.plain_kernel, others),
                       options, exec);
    }
    seconds += watch.seconds() / folds;
    shares += fmt::format("{}{:g}", k == 0 ? "f = " : ", ", edit.value);
    const HeadChange change{.M = edit.M, .shift = {}};
    const SentenceScores part = study_scores(stage.items, *stage.model, change, mine, exec);
    for (std::size_t q = 0; q < part.size(); ++q)
      if (!std::isnan(part[q])) all[q] = part[q];
    log_ppl += std::log(text_perplexity(stage.text, *stage.model, change, exec)) / folds;
  }
  Measured done = stereotype_row(stage, row.id, all, std::exp(log_ppl), seconds, exec);
  done.chosen = done.chosen.empty() ? shares : shares + "; " + done.chosen;
  return done;
}

Measured crows_row(const StereotypeStage& stage, const SpecRow& row, const Settings& s,
                   const Exec& exec) {
  const Stopwatch watch;
  HeadChange change;
  std::string chosen;
  if (row.method == "project") {
    change.M = soft_projection(stage.curvature, stage.crows.states.states,
                               stage.crows_pairs, s.number("lambda"));
  } else {
    const HeadEdit edit =
        edit_head(stage.curvature, stage.crows_gradients, stage.crows_kernel, {}, exec);
    change.M = edit.M;
    chosen = fmt::format("f = {:g}", edit.value);
  }
  const double seconds = watch.seconds() + stage.curvature_seconds +
                         (row.method == "project" ? 0 : stage.crows_seconds);
  Measured done = edited_row(stage, row.id, change, seconds, exec);
  if (!chosen.empty())
    done.chosen = done.chosen.empty() ? chosen : chosen + "; " + done.chosen;
  return done;
}

Measured fixed_row(World& world, const StereotypeStage& stage, const SpecRow& row,
                   const Settings& s, const Exec& exec) {
  if (row.method == "vanilla") return edited_row(stage, row.id, {}, 0, exec);
  if (row.method == "self_debias") return self_debias_row(world, stage, row, s, exec);
  if (row.method == "crows" || row.method == "project")
    return crows_row(stage, row, s, exec);
  return rival_row(stage, row, s, exec);
}

}  // namespace

UnitResult run_stereotypes(World& world, const Unit& unit, const Exec& exec) {
  UnitResult result;
  const bool printed = !unit.settings.word("printed").empty();
  if (!printed && world.model().empty())
    throw Error(ErrorKind::bad_option, "reproduce: table4 measures a language model",
                "name its folder: fmd reproduce table4 --model FOLDER");
  std::shared_ptr<StereotypeStage>& stage = world.stereotypes(unit.c->name);
  if (!printed && stage == nullptr) stage = make_stage(world, unit, exec);
  for (const SpecRow& row : unit.spec->rows) {
    if (printed || row.method == "printed") {
      const auto& paper = unit.c->paper;
      if (!printed || paper.contains(row.id))
        result.rows.push_back({row.id, {}, printed ? "printed" : "not run", false});
      continue;
    }
    const Settings settings = unit.of(row);
    exec.report(fmt::format("{}, seed {}: {}", unit.c->name, unit.seed, row.title), 0, 0);
    if (row.method == "stereoset" || row.method == "plain") {
      result.rows.push_back(cross_fitted_row(*stage, row, settings, exec));
      continue;
    }
    const auto known = stage->rows.find(row.id);
    if (known == stage->rows.end())
      stage->rows[row.id] = fixed_row(world, *stage, row, settings, exec);
    result.rows.push_back(stage->rows[row.id]);
  }
  if (!printed) {
    result.facts["items"] = static_cast<double>(stage->items.items.items.size());
    result.facts["crows_pairs"] = static_cast<double>(stage->crows_pairs.size());
    result.facts["sentences"] = static_cast<double>(stage->embeddings[0].rows());
    result.facts["curvature_tokens"] = static_cast<double>(stage->text.tokens_fit);
  }
  return result;
}

}  // namespace fmd::repro
