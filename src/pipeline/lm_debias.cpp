#include "fmd/pipeline/lm_debias.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/check.h"
#include "core/json.h"
#include "fmd/core/hash.h"
#include "fmd/core/output_files.h"
#include "fmd/formats/undo.h"
#include "fmd/language/edit_files.h"
#include "fmd/language/head_study.h"
#include "fmd/pipeline/receipt.h"
#include "pipeline/lm_edit.h"
#include "pipeline/receipt.h"

namespace fmd {
namespace {

namespace fs = std::filesystem;

void validate(const LmDebiasOptions& o) {
  if (o.method != "step" && o.method != "solve" && o.method != "project")
    throw Error(
        ErrorKind::bad_option,
        fmt::format("lm debias: option method is {}, must be step, solve or project",
                    o.method));
  require_option(o.lambda >= 0 && std::isfinite(o.lambda), "lm debias", "lambda", o.lambda,
                 ">= 0");
  require_option(o.damping > 0, "lm debias", "damping", o.damping, "> 0");
  require_option(o.max_kl > 0, "lm debias", "max-kl", o.max_kl, "> 0");
  require_option(o.folds >= 2, "lm debias", "folds", o.folds, ">= 2");
  require_option(o.replicates >= 100, "lm debias", "replicates", o.replicates, ">= 100");
  require_option(o.text_tokens >= 2, "lm debias", "text-tokens", o.text_tokens, ">= 2");
}

void reserve_lm(const DebiasFiles& names, OutputFiles& files) {
  for (const fs::path* path : {&names.undo, &names.receipt}) files.reserve(*path);
  files.reserve_folder(names.out);
}

}  // namespace

std::vector<OptionField> fields(LmDebiasOptions& o) {
  return {
      {.name = "method",
       .value = &o.method,
       .flag = "--method",
       .help = "step, solve or project"},
      {.name = "domain",
       .value = &o.domain,
       .flag = "--domain",
       .help = "Take this domain only: gender, race, ...",
       .shows_default = false,
       .optional = true},
      {.name = "lambda",
       .value = &o.lambda,
       .flag = "--lambda",
       .help = "Strength of project"},
      {.name = "damping",
       .value = &o.damping,
       .flag = "--damping",
       .help = "Added to the curvature, relative to its mean"},
      {.name = "max_kl",
       .value = &o.max_kl,
       .flag = "--max-kl",
       .help = "Largest predicted change of the model, KL per token"},
      {.name = "text_tokens",
       .value = &o.text_tokens,
       .flag = "--text-tokens",
       .help = "Most tokens of the neutral text"},
      {.name = "folds",
       .value = &o.folds,
       .flag = "--folds",
       .help = "Parts of the targets, for cross-fitted figures"},
      {.name = "replicates",
       .value = &o.replicates,
       .flag = "--replicates",
       .help = "Of the bootstrap over targets"},
      {.name = "controls",
       .value = &o.controls,
       .flag = "--controls",
       .help =
           "Also measure: no curvature, that of the states alone, random pairs, tempered"},
  };
}

LmDebiasReport lm_debias(const LmDebiasFiles& names, const LmDebiasOptions& options,
                         const std::function<RunNote()>& note, const Exec& exec) {
  validate(options);
  const DebiasFiles out(names.out);
  recover(names.out);
  static_cast<void>(language_folder(names.model));
  OutputFiles files({.force = false});
  reserve_lm(out, files);  // refused before the work, not after it
  LmEdit work(names, options, exec);
  LmDebiasReport report = work.report();
  report.out = names.out.filename().string();
  const WrittenModel written = write_language_model(
      names.model, work.model().head(), work.new_head().weight, files, names.out);
  const LanguageModel changed =
      LanguageModel::open(files.temporary(written.main).parent_path(), {}, exec);
  work.measure(changed, report, exec);
  for (const FileChange& file : written.files)
    report.model_files.push_back(
        {file.name, file.before ? hex(*file.before) : "", hex(file.after)});
  files.write(out.undo, undo_bytes(written.undo));
  files.write(out.receipt, lm_receipt_json(report, note()));
  files.commit();
  return report;
}

}  // namespace fmd
