#pragma once

#include <string>
#include <vector>

#include "fmd/data/encoder.h"
#include "fmd/data/table.h"
#include "fmd/data/task.h"
#include "fmd/model/model.h"

namespace fmd {

// An encoder that takes numbers as they are and gives each listed level of a category a
// feature of its own. Other levels, and missing cells, have a feature whose weight is 0.
struct PlainColumn {
  std::string name;
  ColumnKind kind = ColumnKind::number;
  std::vector<std::string> levels = {};  // category: sorted, different
};
[[nodiscard]] Encoder plain_encoder(const std::vector<PlainColumn>& columns,
                                    const std::string& source);

// A logistic regression or a scorecard from a table of coefficients, as R, SAS and
// scikit-learn print them: a column of names ("feature", "term", "variable" or "name") and
// one of numbers ("coefficient", "estimate", "coef" or "weight"). A name is a column
// ("age": the number counts as it is), a level of one ("sex=Male"; a level that is not
// listed counts 0), or the intercept ("(Intercept)", "intercept" or "const"). task: with
// two classes; the coefficients give the log-odds of the second. Throws
// Error(missing_column), and Error(bad_value) that names the line for a coefficient that is
// missing, a name that appears twice, and a column that is both number and category.
[[nodiscard]] Model read_scorecard(const Table& coefficients, Task task);

}  // namespace fmd
