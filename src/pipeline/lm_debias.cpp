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
