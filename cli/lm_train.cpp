#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/lm.h"
#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/core/output_files.h"
#include "fmd/core/rng.h"
#include "fmd/core/safe_text.h"
#include "fmd/language/continued_training.h"
#include "fmd/language/head_study.h"

namespace fmd::cli {
namespace {

struct LmTrainArgs {
  Common common;
  std::string model, text, swap, out;
  TrainingOn options;
};

// Those with a text.
std::vector<std::string> lines_of(const std::string& file) {
  std::vector<std::string> lines =
      text_lines(FileView::open(file, Index{1} << 30).text(), file);
  std::erase(lines, "");
  return lines;
}

int run_lm_train(const LmTrainArgs& args) {
  const Session session(args.common);
  OutputFiles files({});
  files.reserve_folder(args.out);
  std::vector<std::string> lines = lines_of(args.text);
  Rng rng(args.common.seed, "lines to train on");
  const std::vector<Index> order = permutation(std::ssize(lines), rng);
  std::vector<std::string> drawn;
  for (const Index i : order)
    drawn.push_back(std::move(lines[static_cast<std::size_t>(i)]));
  if (!args.swap.empty()) {
    drawn = two_sided(drawn, read_swap_words(args.swap), args.common.seed);
    if (drawn.empty())
      throw Error(ErrorKind::bad_data,
                  fmt::format("{}: no line has a word of {}", args.text, args.swap),
                  "give text with these words, or other words");
  }
  const TrainedOn done =
      train_on(args.model, drawn, args.options, files, args.out, session.exec());
  files.commit();
  if (args.common.json)
    print(nlohmann::ordered_json{{"schema", 1},
                                 {"command", "lm train"},
                                 {"steps", done.steps},
                                 {"tokens", done.tokens},
                                 {"losses", done.losses},
                                 {"dropout", args.options.dropout},
                                 {"two_sided", !args.swap.empty()},
                                 {"seconds", session.seconds()},
                                 {"cpu_seconds", Session::cpu_seconds()},
                                 {"out", args.out}});
  else
    print(fmt::format(
        "wrote {}: trained on with {} tokens in {} steps, loss {:.3f} -> {:.3f} "
        "per token (first and last step)\n{:.1f} s, {:.1f} CPU s, seed {}\n",
        safe_text(args.out), with_commas(done.tokens), done.steps, done.losses.front(),
        done.losses.back(), session.seconds(), Session::cpu_seconds(), args.common.seed));
  return 0;
}

}  // namespace

void add_lm_train(CLI::App& lm) {
  auto args = std::make_shared<LmTrainArgs>();
  auto& o = args->options;
  auto* cmd = lm.add_subcommand(
      "train", "Train a whole model on, as the rivals CDA and Dropout do; write OUT");
  cmd->add_option("model", args->model, "Folder of the model (never overwritten)")
      ->required();
  cmd->add_option("--text", args->text, "Text to train on, a sentence in each line")
      ->required();
  cmd->add_option("--swap", args->swap,
                  "CDA: CSV of words; lines with one are taken, as they are and swapped");
  cmd->add_option("--dropout", o.dropout, "Dropout: of embeddings, attention and layers")
      ->capture_default_str();
  cmd->add_option("--tokens", o.tokens, "The budget: tokens that are trained on, once each")
      ->capture_default_str();
  cmd->add_option("--length", o.length, "Tokens of a sequence")->capture_default_str();
  cmd->add_option("--batch", o.batch, "Sequences of a step")->capture_default_str();
  cmd->add_option("--rate", o.rate, "Step size of AdamW; it falls to 0")
      ->capture_default_str();
  cmd->add_option("-o,--out", args->out, "Folder to write")->required();
  add_common(*cmd, args->common);
  cmd->footer(R"(
These are rivals of fmd lm debias, to compare with: they change all weights and take minutes to
hours. CDA trains on sentences and on the same sentences with the groups' words swapped. Dropout
trains on plain text with more dropout. Models of the Llama kind; needs the plug-in of PyTorch
(./dev setup torch). OUT is a folder that transformers and fmd lm audit load. It has no undo: the
model itself stays as it is.

Examples
  fmd lm train SmolLM2-135M --text sentences.txt --swap words.csv --tokens 100000 -o cda
  fmd lm train SmolLM2-135M --text sentences.txt --dropout .15 -o dropout)");
  on_run(*cmd, [args] { return run_lm_train(*args); });
}

}  // namespace fmd::cli
