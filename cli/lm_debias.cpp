#include "fmd/pipeline/lm_debias.h"

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/field_flags.h"
#include "cli/lm.h"
#include "fmd/core/file.h"
#include "fmd/core/safe_text.h"
#include "fmd/pipeline/receipt.h"
#include "fmd/version.h"

namespace fmd::cli {
namespace {

struct LmDebiasArgs {
  Common common;
  LmDebiasFiles files;
  LmDebiasOptions options;
  FieldFlags options_flags{fields(options)};
  std::string cache;
};

int run_lm_debias(const LmDebiasArgs& args) {
  const Session session(args.common);
  LmDebiasOptions options = args.options;
  if (!args.cache.empty()) options.cache = args.cache;
  const LmDebiasReport report = lm_debias(
      args.files, options,
      [&] {
        return RunNote{now_utc(), session.seconds(), Session::cpu_seconds()};
      },
      session.exec());
  if (args.common.json) {
    print(std::string(FileView::open(DebiasFiles(args.files.out).receipt).text()));
    return 0;
  }
  print(screen(sheet_of(report)));
  print(fmt::format(
      "\nfiles  {0}\n       and beside it .receipt.json and .undo\ncheck  fmd verify "
      "{0}.receipt.json --model {1}\nback   fmd undo {0}.receipt.json -o MODEL\n{2:.1f} s, "
      "seed {3}\n",
      safe_text(args.files.out.string()), safe_text(args.files.model.string()),
      session.seconds(), args.common.seed));
  return 0;
}

constexpr const char* kLmDebiasFooter = R"(
Takes back what the head of a language model prefers: in each pair of sentences, the one with the
stereotype. Only the last layer changes, W becomes W (I + M). The model's forward pass is run once.
step is the paper's equation 9 with the curvature of the neutral text. How far it goes is chosen by
leaving one target out. solve fits all pairs. project is for pairs that swap the word of a group: it
takes the direction of the swap out of the states. The neutral text is what the model should keep:
half of it gives the curvature, the other half measures perplexity. Where --stereoset is left out,
or is the same file as --pairs, the figures are cross-fitted: each target is scored by an edit that
it had no part in. OUT holds the edit from all pairs.

OUT is a folder that transformers loads. Nothing is written when an input is wrong. An OUT that
exists is never replaced.

Examples
  fmd lm debias SmolLM2-135M --pairs stereoset.json --domain race --text neutral.txt -o repaired
  fmd lm debias SmolLM2-135M --pairs crows_pairs.csv --stereoset stereoset.json --method project --text neutral.txt -o repaired
  fmd verify repaired.receipt.json --model SmolLM2-135M
  fmd undo repaired.receipt.json -o SmolLM2-original)";

}  // namespace

void add_lm_debias(CLI::App& lm) {
  auto args = std::make_shared<LmDebiasArgs>();
  auto* cmd = lm.add_subcommand("debias", "Edit the head of a language model; write OUT");
  cmd->add_option("model", args->files.model, "Folder of the model (never overwritten)")
      ->required();
  cmd->add_option("--pairs", args->files.pairs,
                  "Pairs of sentences: StereoSet, CrowS-Pairs or CSV (stereotype, "
                  "anti_stereotype)")
      ->required();
  cmd->add_option("--stereoset", args->files.stereoset,
                  "Items to measure on; without it the pairs, cross-fitted");
  cmd->add_option("--text", args->files.text, "Neutral text, which the model should keep")
      ->required();
  cmd->add_option("-o,--out", args->files.out, "Folder to write")->required();
  for (const char* name : {"method", "domain", "max_kl", "lambda", "damping", "text_tokens",
                           "folds", "replicates", "controls"})
    args->options_flags.add(*cmd, name);
  cmd->add_option("--cache", args->cache, "Folder where states are kept");
  add_common(*cmd, args->common);
  cmd->footer(kLmDebiasFooter);
  on_run(*cmd, [args] { return run_lm_debias(*args); });
}

}  // namespace fmd::cli
