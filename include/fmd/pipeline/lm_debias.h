#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/core/fields.h"
#include "fmd/language/stereotype.h"
#include "fmd/report/lm_debias_report.h"

namespace fmd {

struct LmDebiasFiles {
  std::filesystem::path model;      // a folder; never overwritten
  std::filesystem::path pairs;      // StereoSet, CrowS-Pairs or CSV: see sentence_items.h
  std::filesystem::path stereoset;  // what it is measured on; empty = the pairs
  std::filesystem::path text;       // neutral text, a line a sentence
  std::filesystem::path out;        // a folder that is not there
};

struct LmDebiasOptions {
  std::string method = "step";  // step, solve, or project
  std::string domain;           // take pairs and items of this domain only; empty = all
  double lambda = 1;            // of project; must be >= 0
  double damping = .01;         // of the curvature, relative; must be > 0
  double max_kl = .01;          // of step and solve; must be > 0
  Index text_tokens = 8192;     // of the neutral text: half fits, half measures
  int folds = 5;                // of targets, where the pairs are also what is measured
  bool controls = false;        // measure the controls too
  Index replicates = 2000;
  std::optional<std::filesystem::path> cache;  // a folder that keeps states
};

// Every field that a receipt records, in its order. The list points into `options`.
[[nodiscard]] std::vector<OptionField> fields(LmDebiasOptions& options);

// Edits the head of a language model and writes OUT, OUT.receipt.json and OUT.undo; `fmd
// undo` gives the original back. The figures come from OUT after it was read back. Where
// the pairs are also what is measured, each target is scored by an edit that it had no part
// in. note: tells date and times. Throws what the parts throw; nothing is written then.
[[nodiscard]] LmDebiasReport lm_debias(const LmDebiasFiles& files,
                                       const LmDebiasOptions& options,
                                       const std::function<RunNote()>& note,
                                       const Exec& exec);

}  // namespace fmd
