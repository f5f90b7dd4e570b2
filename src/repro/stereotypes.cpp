#include "repro/stereotypes.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/core/hash.h"
#include "fmd/core/output_files.h"
#include "fmd/core/rng.h"
#include "fmd/core/safe_text.h"
#include "fmd/language/continued_training.h"
#include "fmd/language/head_rivals.h"
#include "fmd/language/head_study.h"
#include "fmd/language/sentence_pairs.h"
#include "fmd/language/stereotype.h"
#include "fmd/version.h"
#include "repro/cache.h"
#include "repro/corpora.h"

namespace fmd::repro {

// What a part of an edit took.
struct Spent {
  double seconds = 0, cpu = 0;

  void add(const Stopwatch& watch, double share = 1) {
    seconds += share * watch.seconds();
    cpu += share * watch.cpu();
  }
  void add(const Spent& other) {
    seconds += other.seconds;
    cpu += other.cpu;
  }
};

// What all seeds of a case share.
struct StereotypeStage {
  std::shared_ptr<const LanguageModel> model;  // one for all cases
  HeadStudy items, crows;
  NeutralText text;
  HeadCurvature curvature;
  Spent curvature_time, kernel_time;
  PairGradients gradients;  // of the items
  Matrix kernel, plain_kernel;
  std::string model_hash;  // of the backbone and of the head
  SentenceScores vanilla;
  double vanilla_ppl = 0;
  std::vector<HeadPair> crows_pairs;
  SwapWords words;
  std::vector<std::string>
      sentences;  // of the corpora, in an order that the case has alone
  // Mean states of sentences with a listed word: [group](sentence, d).
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

// Sentences of the corpora, mixed by a seed of their own.
std::vector<std::string> mixed_sentences(const World& world, const Settings& s) {
  std::vector<std::filesystem::path> files;
  const std::string list = s.word("corpora");
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find(' ', at), list.size());
    files.push_back(world.folder() / "text_corpora" / list.substr(at, end - at));
    at = end + 1;
  }
  const std::vector<std::string> all = corpus_sentences(files, {});
  Rng rng(1, "sentences");
  std::vector<std::string> mixed;
  for (const Index i : permutation(std::ssize(all), rng))
    mixed.push_back(all[static_cast<std::size_t>(i)]);
  return mixed;
}

// Mean states of sentences with a listed word, in the words of each group.
std::vector<Matrix> embeddings_of(const LanguageModel& model,
                                  const std::vector<std::string>& sentences,
                                  const SwapWords& words, Index most,
                                  const std::optional<std::filesystem::path>& cache,
                                  const Exec& exec) {
  const auto groups = std::ssize(words.groups);
  std::vector<std::string> lines;  // variants side by side: they share their beginnings
  for (const std::string& sentence : sentences) {
    if (std::ssize(lines) >= most * groups) break;
    if (of_group(sentence, words, 0).words == 0) continue;
    std::vector<std::string> variants;
    for (std::size_t g = 0; g < words.groups.size(); ++g)
      variants.push_back(of_group(sentence, words, g).text);
    if (std::all_of(variants.begin(), variants.end(), [&](const std::string& v) {
          return std::ssize(model.tokenizer().encode(v)) + 2 <= model.context();
        }))
      lines.insert(lines.end(), variants.begin(), variants.end());
  }
  if (std::ssize(lines) < 2 * groups)
    throw Error(ErrorKind::bad_data,
                "reproduce: fewer than two sentences have a listed word",
                "the corpora must be those that the notes of table4 name");
  const FloatMatrix all = sentence_means(model, lines, cache, exec);
  std::vector<Matrix> means;
  for (Index g = 0; g < groups; ++g) {
    Matrix part(all.rows() / groups, all.cols());
    for (Index i = 0; i < part.rows(); ++i)
      part.row(i) = all.row(i * groups + g).cast<double>();
    means.push_back(std::move(part));
  }
  return means;
}

std::unique_ptr<StereotypeStage> make_stage(World& world, const Unit& unit,
                                            const Exec& exec) {
  auto stage = std::make_unique<StereotypeStage>();
  const Settings& s = unit.settings;
  const auto cache =
      world.features().empty() ? std::nullopt : std::optional(world.features());
  std::shared_ptr<StereotypeStage>& shared = world.stereotypes("");
  if (shared == nullptr) {
    shared = std::make_shared<StereotypeStage>();
    shared->model =
        std::make_shared<const LanguageModel>(LanguageModel::open(world.model(), {}, exec));
    shared->sentences = mixed_sentences(world, s);
    const FloatMatrix& W = shared->model->head().weight;
    shared->model_hash = shared->model->backbone_hash().substr(0, 16) +
                         hex(sha256({reinterpret_cast<const std::uint8_t*>(W.data()),
                                     static_cast<std::size_t>(W.size()) * sizeof(float)}))
                             .substr(0, 16);
  }
  stage->model_hash = shared->model_hash;
  stage->model = shared->model;
  stage->sentences = shared->sentences;
  stage->words = words_of_case(s.word("words"));
  const LanguageModel& model = *stage->model;
  const auto items = [&](const char* file) {
    return items_of(world.folder() / file, model, s);
  };
  stage->items =
      head_study(model, items("stereoset/stereoset_dev_by_label.json"), cache, exec);
  stage->text = neutral_text(model, world.folder() / s.word("text"), s.count("text_tokens"),
                             cache, exec);
  const Stopwatch curvature;
  stage->curvature = head_curvature(model.head(), stage->text.fit.states, .01, exec);
  stage->curvature_time.add(curvature);
  stage->vanilla = study_scores(stage->items, model, {}, std::nullopt, exec);
  stage->vanilla_ppl = text_perplexity(stage->text, model, {}, exec);
  return stage;
}

PairGradients gradients_of(const LanguageModel& model, const HeadStudy& study,
                           const Exec& exec) {
  const HeadOutputs outputs = head_outputs(model.head(), study.states.states, true, exec);
  return pair_gradients(model.head(), study.states.states, outputs, head_pairs(study));
}

// What only some rows need is made at the first of them.
void need_own_pairs(StereotypeStage& stage, const Exec& exec) {
  if (stage.kernel.size() != 0) return;
  const Stopwatch watch;
  stage.gradients = gradients_of(*stage.model, stage.items, exec);
  stage.kernel = pair_kernel(stage.curvature, stage.gradients, exec);
  stage.kernel_time.add(watch);
}

void need_plain_kernel(StereotypeStage& stage, const Exec& exec) {
  need_own_pairs(stage, exec);
  if (stage.plain_kernel.size() != 0) return;
  stage.plain_kernel =
      pair_kernel(metric_of(HeadMethod::plain, stage.curvature), stage.gradients, exec);
}

void need_crows(World& world, StereotypeStage& stage, const Settings& s, const Exec& exec) {
  if (!stage.crows_pairs.empty()) return;
  const auto cache =
      world.features().empty() ? std::nullopt : std::optional(world.features());
  stage.crows = head_study(
      *stage.model,
      items_of(world.folder() / "crows_pairs/crows_pairs_anonymized.csv", *stage.model, s),
      cache, exec);
  stage.crows_pairs = head_pairs(stage.crows);
}

void need_embeddings(World& world, StereotypeStage& stage, const Settings& s,
                     const Exec& exec) {
  if (!stage.embeddings.empty()) return;
  const auto cache =
      world.features().empty() ? std::nullopt : std::optional(world.features());
  stage.embeddings = embeddings_of(*stage.model, stage.sentences, stage.words,
                                   s.count("sentences"), cache, exec);
}

// The figures of scores, beside those of vanilla.
Measured stereotype_row(const StereotypeStage& stage, const std::string& id,
                        const SentenceScores& scores, double ppl, const Spent& spent,
                        const Exec& exec) {
  Exec same = exec;
  same.seed = 1;  // one bootstrap for all rows and seeds
  const StereotypeOptions options;
  const StereotypeFigures f =
      stereotype_scores(stage.items.items, scores, options, same).back().by_term;
  const StereotypeFigures change =
      stereotype_changes(stage.items.items, stage.vanilla, scores, options, same)
          .back()
          .by_term;
  Measured row{id, {}, "", true};
  row.value = {
      {"ss", f.ss.value},
      {"lms", f.lms.value},
      {"icat", f.icat.value},
      {"ppl", ppl},
      {"seconds", spent.seconds},
      {"cpu", spent.cpu},
      {"ss_low", f.ss.low},
      {"ss_high", f.ss.high},
      {"change", change.ss.value},
      {"change_low", change.ss.low},
      {"change_high", change.ss.high},
      {"nearer", std::abs(f.ss.value - change.ss.value - 50) - std::abs(f.ss.value - 50)},
      {"lms_loss", 0 - change.lms.value},
      {"lms_loss_low", 0 - change.lms.high},
      {"lms_loss_high", 0 - change.lms.low},
      {"ppl_gain", 100 * (ppl / stage.vanilla_ppl - 1)}};
  if (id != "vanilla" && change.ss.low <= 0 && change.ss.high >= 0)
    row.chosen = "not enough evidence of a change";
  return row;
}

Measured edited_row(const StereotypeStage& stage, const std::string& id,
                    const HeadChange& change, const Spent& spent, const Exec& exec) {
  return stereotype_row(
      stage, id, study_scores(stage.items, *stage.model, change, std::nullopt, exec),
      text_perplexity(stage.text, *stage.model, change, exec), spent, exec);
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
  Spent spent;
  spent.add(watch);
  Measured done = edited_row(stage, row.id, change, spent, exec);
  done.value["rows"] = static_cast<double>(stage.embeddings[0].rows());
  return done;
}

// The folder of the trained model: made once, and found again by what it depends on.
std::filesystem::path trained_model(World& world, const StereotypeStage& stage,
                                    const SpecRow& row, const Settings& s, Spent& spent,
                                    TrainedOn& done, const Exec& exec) {
  TrainingOn options;
  options.tokens = s.count("train_tokens");
  options.length = s.count("train_length");
  options.batch = s.count("train_batch");
  options.dropout = s.number("dropout");
  const std::vector<std::string> lines =
      row.method == "cda" ? two_sided(stage.sentences, stage.words, 1) : stage.sentences;
  std::string what =
      fmt::format("{} {} {} {} {}", stage.model->backbone_hash(), options.tokens,
                  options.length, options.batch, options.dropout);
  for (const std::string& line : lines) what += "\n" + line;
  const std::string key =
      hex(sha256({reinterpret_cast<const std::uint8_t*>(what.data()), what.size()}));
  const std::filesystem::path folder = world.features() / ("trained-" + key.substr(0, 16));
  const std::filesystem::path note = folder.string() + ".txt";  // what it took
  if (!std::filesystem::exists(folder)) {
    OutputFiles files({.force = true});
    files.reserve_folder(folder);
    const Stopwatch watch;
    Exec one = exec;
    one.seed = 1;
    done = train_on(world.model(), lines, options, files, folder, one);
    files.write(note,
                fmt::format("{} {} {} {} {} {}\n", watch.seconds(), watch.cpu(), done.steps,
                            done.tokens, done.losses.front(), done.losses.back()));
    files.commit();
  }
  std::ifstream in(note);
  done.losses.resize(2);
  in >> spent.seconds >> spent.cpu >> done.steps >> done.tokens >> done.losses[0] >>
      done.losses[1];
  return folder;
}

// CDA and Dropout: another model, whose states are its own.
Measured trained_row(World& world, const StereotypeStage& stage, const SpecRow& row,
                     const Settings& s, const Exec& exec) {
  Spent spent;
  TrainedOn done;
  std::filesystem::path folder;
  if (world.features().empty())
    return {row.id, {}, "not run: the trained model needs --feature-cache", false};
  try {
    folder = trained_model(world, stage, row, s, spent, done, exec);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported && error.kind() != ErrorKind::bad_data)
      throw;
    return {row.id, {}, fmt::format("not run: {}", error.what()), false};
  }
  const LanguageModel model = LanguageModel::open(folder, {}, exec);
  const auto cache =
      world.features().empty() ? std::nullopt : std::optional(world.features());
  const HeadStudy items = head_study(model, stage.items.items, cache, exec);
  const NeutralText text = neutral_text(model, world.folder() / s.word("text"),
                                        s.count("text_tokens"), cache, exec);
  Measured measured =
      stereotype_row(stage, row.id, study_scores(items, model, {}, std::nullopt, exec),
                     text_perplexity(text, model, {}, exec), spent, exec);
  const std::string budget =
      fmt::format("{} tokens, {} steps, loss {:.2f} -> {:.2f}", done.tokens, done.steps,
                  done.losses.front(), done.losses.back());
  measured.chosen = measured.chosen.empty() ? budget : budget + "; " + measured.chosen;
  return measured;
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
  Spent spent;
  spent.add(watch);
  Measured done = stereotype_row(stage, row.id, sentence_scores(log_p, stage.model->kind()),
                                 kNoFigure, spent, exec);
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
  Spent spent = stage.curvature_time;
  spent.add(stage.kernel_time);
  double ppl = 0;  // of one part's edit; each seed takes another part
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
    spent.add(watch, 1.0 / folds);
    shares += fmt::format("{}{:g}", k == 0 ? "f = " : ", ", edit.value);
    const HeadChange change{.M = edit.M, .shift = {}};
    const SentenceScores part = study_scores(stage.items, *stage.model, change, mine, exec);
    for (std::size_t q = 0; q < part.size(); ++q)
      if (!std::isnan(part[q])) all[q] = part[q];
    if (k == static_cast<int>(exec.seed % static_cast<std::uint64_t>(folds)))
      ppl = text_perplexity(stage.text, *stage.model, change, exec);
  }
  Measured done = stereotype_row(stage, row.id, all, ppl, spent, exec);
  done.chosen = done.chosen.empty() ? shares : shares + "; " + done.chosen;
  done.value["rows"] = static_cast<double>(stage.gradients.pairs());
  return done;
}

Measured crows_row(World& world, StereotypeStage& stage, const SpecRow& row,
                   const Settings& s, const Exec& exec) {
  need_crows(world, stage, s, exec);
  const Stopwatch watch;
  HeadChange change;
  std::string chosen;
  if (row.method == "project") {
    change.M = soft_projection(stage.curvature, stage.crows.states.states,
                               stage.crows_pairs, s.number("lambda"));
  } else {
    const PairGradients gradients = gradients_of(*stage.model, stage.crows, exec);
    const HeadEdit edit =
        edit_head(stage.curvature, gradients, pair_kernel(stage.curvature, gradients, exec),
                  {}, exec);
    change.M = edit.M;
    chosen = fmt::format("f = {:g}", edit.value);
  }
  Spent spent = stage.curvature_time;
  spent.add(watch);
  Measured done = edited_row(stage, row.id, change, spent, exec);
  done.value["rows"] = static_cast<double>(stage.crows_pairs.size());
  if (!chosen.empty())
    done.chosen = done.chosen.empty() ? chosen : chosen + "; " + done.chosen;
  return done;
}

Measured fixed_row(World& world, StereotypeStage& stage, const SpecRow& row,
                   const Settings& s, const Exec& exec) {
  if (row.method == "vanilla") return edited_row(stage, row.id, {}, {}, exec);
  if (row.method == "self_debias") return self_debias_row(world, stage, row, s, exec);
  if (row.method == "cda" || row.method == "dropout")
    return trained_row(world, stage, row, s, exec);
  if (row.method == "crows" || row.method == "project")
    return crows_row(world, stage, row, s, exec);
  need_embeddings(world, stage, s, exec);
  return rival_row(stage, row, s, exec);
}

// Of all that a row depends on, notes and other rows apart.
std::string row_key(const Unit& unit, const SpecRow& row, const StereotypeStage& stage,
                    bool every_seed) {
  std::string text = fmt::format("{} {} {} {} {} {}", version(), unit.c->name, row.id,
                                 row.method, unit.quick, stage.model_hash);
  if (!every_seed) text += fmt::format(" seed {}", unit.seed);
  const Settings settings = unit.of(row);
  for (const auto& [name, numbers] : settings.numbers)
    for (const double number : numbers) text += fmt::format("|{} {}", name, number);
  for (const auto& [name, word] : settings.words) text += fmt::format("|{} {}", name, word);
  return hex(sha256({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}));
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
  // Finished rows are kept, so that a run which was stopped goes on at the next row.
  UnitCache rows(world.features().empty() || printed
                     ? std::filesystem::path()
                     : world.features() / "table4-rows.json",
                 false);
  const auto kept = [&](const SpecRow& row, bool every_seed, const auto& measure) {
    const std::string key = row_key(unit, row, *stage, every_seed);
    if (rows.find(key) == nullptr) {
      exec.report(fmt::format("{}, seed {}: {}", unit.c->name, unit.seed, row.title), 0, 0);
      UnitResult one;
      one.rows.push_back(measure(unit.of(row)));
      if (one.rows.front().value.empty()) {  // could not be run: the next time perhaps
        result.rows.push_back(one.rows.front());
        return;
      }
      rows.add(key, one);
    }
    result.rows.push_back(rows.find(key)->rows.front());
  };
  for (const SpecRow& row : unit.spec->rows) {
    if (printed || row.method == "printed") {
      const auto& paper = unit.c->paper;
      if (!printed || paper.contains(row.id))
        result.rows.push_back({row.id, {}, printed ? "printed" : "not run", false});
      continue;
    }
    if (row.method == "stereoset" || row.method == "plain") {
      kept(row, false, [&](const Settings& settings) {
        need_own_pairs(*stage, exec);
        if (row.method == "plain") need_plain_kernel(*stage, exec);
        return cross_fitted_row(*stage, row, settings, exec);
      });
      continue;
    }
    const auto known = stage->rows.find(row.id);
    if (known == stage->rows.end()) {
      kept(row, true, [&](const Settings& settings) {
        return fixed_row(world, *stage, row, settings, exec);
      });
      stage->rows[row.id] = result.rows.back();
    } else {
      result.rows.push_back(known->second);
    }
  }
  if (!printed) {
    result.facts["items"] = static_cast<double>(stage->items.items.items.size());
    result.facts["curvature_tokens"] = static_cast<double>(stage->text.tokens_fit);
  }
  return result;
}

}  // namespace fmd::repro
