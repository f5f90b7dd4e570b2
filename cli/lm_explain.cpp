#include "fmd/pipeline/lm_explain.h"

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/lm.h"
#include "fmd/core/output_files.h"

namespace fmd::cli {
namespace {

struct LmExplainArgs {
  Common common;
  std::string model, pairs, text, cache, out;
  LmExplainOptions options;
  bool force = false;
};

int run_lm_explain(const LmExplainArgs& args) {
  const Session session(args.common);
  LmExplainOptions options = args.options;
  if (!args.cache.empty()) options.cache = args.cache;
  OutputFiles files({.force = args.force, .standard = standard_output(args.common)});
  if (!args.out.empty()) files.reserve(args.out);
  const LmExplainReport report =
      lm_explain(args.model, args.pairs, args.text, options, session.exec());
  if (!args.out.empty()) {
    files.write(args.out, lm_explain_csv(report));
    files.commit();
    say(fmt::format("wrote {}", args.out));
  }
  if (args.common.json)
    print(to_json(report));
  else if (args.out != "-")
    print(screen(sheet_of(report)));
  return 0;
}

}  // namespace

void add_lm_explain(CLI::App& lm) {
  auto args = std::make_shared<LmExplainArgs>();
  auto& o = args->options;
  auto* cmd =
      lm.add_subcommand("explain", "Which sentences of a text the preference rests on");
  cmd->add_option("model", args->model, "Folder of a model, or a llama2.c file")
      ->required();
  cmd->add_option("--pairs", args->pairs,
                  "Pairs of sentences: StereoSet, CrowS-Pairs or CSV (stereotype, "
                  "anti_stereotype)")
      ->required();
  cmd->add_option("--text", args->text, "Training or neutral text, a sentence in each line")
      ->required();
  cmd->add_option("--domain", o.domain,
                  "Take pairs of this domain only: gender, race, ...");
  cmd->add_option("--text-tokens", o.text_tokens, "Most tokens of the text")
      ->capture_default_str();
  cmd->add_option("--damping", o.damping, "Added to the curvature, relative to its mean")
      ->capture_default_str();
  cmd->add_option(
         "--refits", o.refits,
         "Fit the head to the text, and again without so many sentences, as a check")
      ->capture_default_str();
  cmd->add_option("--ridge", o.ridge, "Holds the head of a refit near the one that came")
      ->capture_default_str();
  cmd->add_option("--show", o.shown, "Sentences shown at each end")->capture_default_str();
  cmd->add_option("-o,--out", args->out, "CSV with every sentence; - is stdout");
  cmd->add_flag("--force", args->force, "Replace OUT if it exists");
  cmd->add_option("--cache", args->cache, "Folder where states are kept");
  add_common(*cmd, args->common);
  cmd->footer(R"(
The influence of a sentence is what leaving it out of the text would change in the mean preference of
the pairs, by the curvature that fmd lm debias uses. It is a first-order figure for the head alone.
With --refits the head is first fitted to the text, and the figure is compared with real refits.

Examples
  fmd lm explain SmolLM2-135M --pairs stereoset.json --domain race --text sentences.txt
  fmd lm explain stories260K.bin --pairs pairs.csv --text stories.txt --refits 10)");
  on_run(*cmd, [args] { return run_lm_explain(*args); });
}

}  // namespace fmd::cli
