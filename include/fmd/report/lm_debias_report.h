#pragma once

#include <string>
#include <vector>

#include "fmd/language/head_edit.h"
#include "fmd/metrics/interval.h"
#include "fmd/report/debias_report.h"
#include "fmd/report/sheet.h"

namespace fmd {

// What `fmd lm debias` did, and what it changed. Figures in points (SS, LMS, ICAT: 0 ..
// 100).

struct LmFigures {
  Interval ss, lms, icat;
};
struct LmDebiasDomain {
  std::string domain;
  Index items = 0, terms = 0;
  LmFigures before, after, change;  // means over target terms; change is paired
};

// Another change of the head with its figures on the same items.
struct LmControl {
  std::string name;  // "plain", "input-only", "random", "tempered"
  double kl = 0;     // predicted
  LmFigures figures;
  double perplexity = 0;
};

struct LmDebiasReport {
  std::string model, type, kind;
  std::string out;
  // Files that were read: role (pairs, stereoset, text), name, sha256, rows (items,
  // tokens).
  std::vector<DataNote> data;
  std::vector<ModelFileNote> model_files;  // of OUT, config.json first
  std::string options;                     // JSON, of fields(LmDebiasOptions&)
  std::string method;
  double lambda = 0;  // of project
  std::uint64_t seed = 0;
  HeadEdit edit;  // without M
  Index states_of_curvature = 0;
  // Figures are of targets that the edit was not made from: each fold of targets is scored
  // by an edit from the others. Otherwise all items are scored by the file that was
  // written.
  bool cross_fitted = false;
  std::vector<LmDebiasDomain> domains;
  double perplexity_before = 0, perplexity_after = 0;
  std::vector<LmControl> controls;
  std::vector<std::string> notes;
};

// OUT.receipt.json, schema 2.
[[nodiscard]] std::string lm_receipt_json(const LmDebiasReport& report, const RunNote& run);
[[nodiscard]] Sheet sheet_of(const LmDebiasReport& report);

}  // namespace fmd
