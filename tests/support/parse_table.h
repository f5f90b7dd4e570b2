#pragma once

#include <string>

#include "fmd/data/csv.h"

namespace fmd::test {

// The text as the table of a file "x.csv".
inline Table parse(const std::string& text, const CsvOptions& options = {}) {
  return parse_csv(text, "x.csv", options);
}

}  // namespace fmd::test
