#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/lm.h"
#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/core/output_files.h"
#include "fmd/language/sentence_pairs.h"

namespace fmd::cli {
namespace {

struct LmPairsArgs {
  Common common;
  std::string text, swap, domain = "all", out;
  bool force = false;
};

int run_lm_pairs(const LmPairsArgs& args) {
  OutputFiles files({.force = args.force, .standard = standard_output(args.common)});
  files.reserve(args.out);
  const SwapWords words = read_swap_words(args.swap);
  for (const std::string& note : words.notes) say("note   " + note);
  const SwappedText text =
      swapped_text(FileView::open(args.text, Index{1} << 30).text(), words, args.text);
  if (text.pairs.empty())
    throw Error(ErrorKind::bad_data,
                fmt::format("{}: no line has a word of {}", args.text, args.swap),
                "give text with these words, or other words");
  files.write(args.out, pairs_csv(text, args.domain));
  files.commit();
  if (args.common.json)
    print(nlohmann::ordered_json{{"schema", 1},
                                 {"command", "lm pairs"},
                                 {"lines", text.lines},
                                 {"pairs", text.pairs.size()},
                                 {"without_a_word", text.without_word},
                                 {"too_long", text.too_long},
                                 {"out", args.out}});
  else
    say(fmt::format(
        "wrote {}: {} pairs from {} lines ({} without a listed word, {} of more "
        "than 60 words)",
        args.out, with_commas(std::ssize(text.pairs)), with_commas(text.lines),
        with_commas(text.without_word), with_commas(text.too_long)));
  return 0;
}

}  // namespace

void add_lm_pairs(CLI::App& lm) {
  auto args = std::make_shared<LmPairsArgs>();
  auto* cmd = lm.add_subcommand("pairs", "Pairs of sentences, by swapping words in a text");
  cmd->add_option("text", args->text, "Text, a sentence in each line")->required();
  cmd->add_option("--swap", args->swap,
                  "CSV of words: a column for each group, a line for each meaning")
      ->required();
  cmd->add_option("--domain", args->domain, "What the pairs are about")
      ->capture_default_str();
  cmd->add_option("-o,--out", args->out, "CSV to write; - is stdout")->required();
  cmd->add_flag("--force", args->force, "Replace OUT if it exists");
  add_common(*cmd, args->common);
  cmd->footer(R"(
Each line with a listed word gives one pair: the line as it is, under stereotype, and the line with
all listed words swapped, under anti_stereotype. Two groups are swapped both ways; of more groups,
each word becomes that of the next group. The file can be --pairs of fmd lm debias.

Example
  printf 'female,male\nshe,he\nher,his\nmother,father\n' > words.csv
  fmd lm pairs sentences.txt --swap words.csv --domain gender -o pairs.csv)");
  on_run(*cmd, [args] { return run_lm_pairs(*args); });
}

}  // namespace fmd::cli
