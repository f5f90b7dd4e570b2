#include "cli/lm.h"

#include <algorithm>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "fmd/core/error.h"
#include "fmd/core/output_files.h"
#include "fmd/data/csv.h"
#include "fmd/pipeline/language_audit.h"

namespace fmd::cli {
namespace {

struct LmAuditArgs {
  Common common;
  std::string model, stereoset, crows, pairs, text, scores, cache, backbone = "automatic";
  LanguageAuditOptions options;
  std::string out;
  std::vector<std::string> seat;
  bool no_swap = false, force = false;
};

struct LmTokensArgs {
  Common common;
  std::string model, text;
};

const std::map<std::string, BackboneChoice> kBackbones{
    {"automatic", BackboneChoice::automatic},
    {"native", BackboneChoice::native},
    {"onnx", BackboneChoice::onnx}};

int run_lm_audit(const LmAuditArgs& args) {
  const Session session(args.common);
  const Exec& exec = session.exec();
  LanguageAuditOptions options = args.options;
  options.swapped = !args.no_swap;
  if (!args.cache.empty()) options.cache = args.cache;
  if (args.model.empty() == args.scores.empty())
    throw Error(ErrorKind::bad_option, "lm audit: give either MODEL or --scores FILE");
  OutputFiles files({.force = args.force});
  if (!args.out.empty()) files.reserve(args.out);
  // The files are read first: a mistake there should not cost the time of a model.
  const LanguageQuestions questions =
      read_questions(args.stereoset, args.crows, args.pairs, args.text, args.seat);
  LanguageReport report;
  if (args.scores.empty()) {
    const LanguageModel model =
        LanguageModel::open(args.model, {.backbone = kBackbones.at(args.backbone)}, exec);
    report = audit_language(model, questions, options, exec);
  } else {
    report = audit_sentence_scores(args.scores, questions, options, exec);
  }
  if (!args.out.empty()) {
    files.write(args.out, scores_json(report));
    files.commit();
    say(fmt::format("wrote {}", args.out));
  }
  print(args.common.json ? to_json(report) : screen(sheet_of(report)));
  return 0;
}

// The tokens of each line: ids, or with --json also the tokens and the text that they give.
int run_lm_tokens(const LmTokensArgs& args) {
  const Tokenizer tokenizer = Tokenizer::open(args.model);
  std::string text = read_text(args.text, Index{1} << 30);
  if (text.ends_with('\n')) text.pop_back();
  nlohmann::ordered_json lines = nlohmann::ordered_json::array();
  std::string screen;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    const TokenIds ids = tokenizer.encode(text.substr(from, end - from));
    if (args.common.json) {
      nlohmann::ordered_json tokens = nlohmann::ordered_json::array();
      for (const TokenId id : ids) tokens.push_back(tokenizer.token(id));
      lines.push_back(
          {{"ids", ids}, {"tokens", tokens}, {"decoded", tokenizer.decode(ids)}});
    } else {
      screen += fmt::format("{}\n", fmt::join(ids, " "));
    }
    from = end + 1;
  }
  if (args.common.json)
    print(
        nlohmann::ordered_json{{"schema", 1}, {"command", "lm tokens"}, {"lines", lines}});
  else
    print(screen);
  return 0;
}

void add_lm_audit(CLI::App& lm) {
  auto args = std::make_shared<LmAuditArgs>();
  LanguageAuditOptions& o = args->options;
  auto* cmd = lm.add_subcommand(
      "audit", "Measure which stereotypes a language model prefers, with intervals");
  cmd->add_option("model", args->model,
                  "Folder of a model as Hugging Face writes it, or a llama2.c file");
  cmd->add_option("--stereoset", args->stereoset,
                  "StereoSet's dev.json, or a CSV with stereotype and anti_stereotype");
  cmd->add_option("--crows", args->crows, "CrowS-Pairs' CSV");
  cmd->add_option("--seat", args->seat, "A SEAT or WEAT test; may be repeated")
      ->allow_extra_args(false);
  cmd->add_option("--text", args->text, "Neutral text for the perplexity, one line each");
  cmd->add_option("--text-lines", o.text_lines, "How many of its lines are used")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  cmd->add_option("--pairs", args->pairs,
                  "Pairs that the model is edited with: also measures items without their "
                  "words");
  cmd->add_option(
      "--scores", args->scores,
      "In place of MODEL: a score for each sentence, as StereoSet's predictions");
  cmd->add_option("-o,--out", args->out,
                  "Where to write the score of each sentence; --scores reads it");
  cmd->add_flag("--force", args->force, "Replace OUT if it exists");
  cmd->add_flag("--intersentence", o.intersentence,
                "Also score items that ask for a next sentence (causal models)");
  cmd->add_flag("--no-swap", args->no_swap, "Leave out the control with swapped targets");
  cmd->add_option(
      "--cache", args->cache,
      "Folder where states are kept: a model with a changed head is scored from "
      "there");
  cmd->add_option("--backbone", args->backbone,
                  "What computes the states: automatic, native or onnx")
      ->check(CLI::IsMember({"automatic", "native", "onnx"}))
      ->capture_default_str();
  cmd->add_option("--replicates", o.scores.replicates, "Bootstrap replicates")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  cmd->add_option("--confidence", o.scores.confidence, "Of the intervals")
      ->check(CLI::Range(.5, .9999))
      ->capture_default_str();
  add_common(*cmd, args->common);
  cmd->footer(R"(
MODEL is read as it is: config.json, model.safetensors (or its shards) and tokenizer.json. Models of
the Llama kind need nothing else; BERT, DistilBERT, RoBERTa and GPT-2 need backbone.onnx in the
folder, which tools/export_lm.py MODEL writes.

Examples
  fmd lm audit SmolLM2-135M --stereoset dev.json --cache states
  fmd lm audit SmolLM2-135M --stereoset dev.json --crows crows_pairs_anonymized.csv --json
  fmd lm audit --scores predictions_gpt2.json --stereoset dev.json)");
  on_run(*cmd, [args] { return run_lm_audit(*args); });
}

void add_lm_tokens(CLI::App& lm) {
  auto args = std::make_shared<LmTokensArgs>();
  auto* cmd = lm.add_subcommand("tokens", "Show the tokens that a model reads in a text");
  cmd->add_option("model", args->model, "Folder of a model, or its tokenizer.json")
      ->required();
  cmd->add_option("text", args->text, "A text; each line is taken by itself")->required();
  add_common(*cmd, args->common);
  cmd->footer(R"(
No token is added at the ends of a line.

Example
  fmd lm tokens SmolLM2-135M text.txt --json)");
  on_run(*cmd, [args] { return run_lm_tokens(*args); });
}

}  // namespace

void add_lm(CLI::App& app) {
  auto* lm = app.add_subcommand(
      "lm", "Language models: stereotype scores, and edits of the last layer");
  lm->require_subcommand(1);
  lm->footer(R"(
Each command has --help with examples: fmd lm audit --help.)");
  add_lm_audit(*lm);
  add_lm_tokens(*lm);
  add_lm_debias(*lm);
  add_lm_explain(*lm);
  add_lm_pairs(*lm);
  add_lm_train(*lm);
}

}  // namespace fmd::cli
