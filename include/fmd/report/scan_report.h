#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fmd/data/task.h"
#include "fmd/metrics/interval.h"
#include "fmd/report/audit_report.h"
#include "fmd/report/proxy_report.h"

namespace fmd {

// How p-values are adjusted for the number of comparisons. holm: the chance of any false
// finding stays below 1 - confidence. bh (Benjamini and Hochberg): the expected share of
// false findings among all findings stays below it. none: each comparison is judged alone.
enum class Adjust { holm, bh, none };

// One group against the largest one of its column or intersection.
struct ScanGap {
  std::string rate;  // "selection_rate", "tpr", "fpr"
  std::string group, reference;
  Index rows = 0, reference_rows = 0;  // that the rate is about
  double group_rate = kUndefined, reference_rate = kUndefined;
  // reference - group. holm: all intervals hold together. bh: the expected share of the
  // findings' intervals holds (false coverage rate). none: each holds alone.
  Interval difference;
  double p_value = kUndefined;   // Fisher's exact test, two-sided
  double adjusted = kUndefined;  // by Adjust, over all comparisons of the scan
  bool finding = false;          // adjusted <= 1 - confidence
};

// What the model does when only the column is changed. There is no p-value: the model
// either reads the column or does not.
struct ScanFlip {
  std::string kind;  // "flip": each other value; "slope": per deviation of a number
  Index rows = 0, values = 0;
  Interval change;                // mean |change of p|; adjusted for the number of columns
  double flip_rate = kUndefined;  // share of answers that change; undefined for slopes
  double deviation = kUndefined;  // slopes: of the number in the training rows
};

// A column or an intersection of two.
struct ScanSuspect {
  std::string name;  // "sex", "sex x race"
  std::vector<std::string> columns;
  std::vector<double> cuts;  // one column in ranges of a number
  Reads reads = Reads::unknown;
  Index groups = 0, compared = 0;  // all; with enough rows
  Index tests = 0, findings = 0;   // comparisons; those that are findings
  std::vector<ScanGap> worst;  // of each rate: the widest finding, otherwise the least p
  std::optional<ScanFlip> flip;
  double beyond = kUndefined;  // intersections: how much wider than in either column

  [[nodiscard]] const ScanGap* widest() const;  // the widest finding; null = none
};

struct ScanReport {
  std::string model, model_sha256, kind;  // empty for scores of another program
  std::string data, data_sha256;
  Index rows = 0;
  Task task;
  double confidence = 0.95;
  Adjust adjust = Adjust::holm;
  Index top = 20;   // lines of each list on the screen
  Index tests = 0;  // all comparisons
  bool labelled = false;
  std::vector<ScanSuspect> columns;        // widest finding first, then by p-value
  std::vector<ScanSuspect> intersections;  // the same
  struct LeftOut {
    std::string column, reason;
  };
  std::vector<LeftOut> left_out;
  std::vector<ProxyReport> proxies = {};  // of the task's attributes
  std::vector<std::string> notes = {};  // what was left out, counted or taken for something
};

[[nodiscard]] std::string to_json(const ScanReport& report);
[[nodiscard]] Sheet sheet_of(const ScanReport& report);

}  // namespace fmd
