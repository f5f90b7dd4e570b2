#pragma once

#include <string>
#include <vector>

#include "fmd/core/types.h"
#include "fmd/metrics/interval.h"

namespace fmd {

// How well a column alone tells an attribute.
struct ProxyColumn {
  std::string column;
  Interval auc;
};

// How well the other columns tell an attribute: what a model can still know after the
// attribute is gone. 0.5 is chance, 1 is certainty.
struct ProxyReport {
  std::string attribute;
  std::string value =
      {};             // told from all other values; of several the one that is told best
  Index rows = 0;     // that were looked at
  Interval auc = {};  // of a logistic regression on all other columns
  std::vector<ProxyColumn> columns = {};  // best first, those that are surely above chance
  std::string reason = {};                // why there is no figure; "" = there is one
};

// "sex (Male): AUC 0.94 [.93, .95]; alone: relationship 0.91, occupation 0.80"
[[nodiscard]] std::string words(const ProxyReport& proxy);
// A JSON array, as text.
[[nodiscard]] std::string to_json(const std::vector<ProxyReport>& proxies);

}  // namespace fmd
