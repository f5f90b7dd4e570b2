#include "fmd/core/fields.h"

#include <set>

#include <gtest/gtest.h>

#include "fmd/pipeline/audit.h"
#include "fmd/pipeline/compare.h"
#include "fmd/pipeline/debias_options.h"
#include "fmd/pipeline/explain.h"
#include "fmd/pipeline/scan.h"
#include "fmd/pipeline/train_model.h"
#include "support/close.h"

namespace fmd {
namespace {

// Names and flags of one struct are different ones, a default lies in its range, and a text
// gives the value that it was made from.
void expect_sound(const std::vector<OptionField>& fields) {
  std::set<std::string> names, flags;
  for (const OptionField& field : fields) {
    SCOPED_TRACE(field.name);
    EXPECT_TRUE(names.insert(field.name).second);
    if (*field.flag != '\0') {
      EXPECT_TRUE(flags.insert(field.flag).second);
      EXPECT_NE(std::string(field.help), "");
    }
    EXPECT_LE(field.least, field.most);
    if (const TextField* text = std::get_if<TextField>(&field.value)) {
      const std::string before = text->get();
      if (before.empty()) continue;
      text->set(before);
      EXPECT_EQ(text->get(), before);
    }
  }
}

TEST(Fields, EveryListIsSound) {
  AuditOptions audit;
  expect_sound(fields(audit));
  ScanOptions scan;
  expect_sound(fields(scan));
  ExplainOptions explain;
  expect_sound(fields(explain));
  TrainModelOptions train;
  expect_sound(fields(train));
  DebiasOptions debias;
  expect_sound(fields(debias));
  CompareOptions compare;
  expect_sound(fields(compare));
}

template <typename Options>
void set_text(Options& options, const std::string& name, const std::string& text) {
  for (const OptionField& field : fields(options))
    if (field.name == name) std::get<TextField>(field.value).set(text);
}

TEST(Fields, TextsBecomeValuesAndWrongOnesAreNamed) {
  AuditOptions audit;
  set_text(audit, "intervals", "bca");
  EXPECT_EQ(audit.intervals, Bootstrap::bca);
  EXPECT_ERROR(set_text(audit, "intervals", "other"), ErrorKind::bad_option,
               "option intervals is other, must be percentile or bca");
  ScanOptions scan;
  set_text(scan, "adjust", "none");
  EXPECT_EQ(scan.adjust, Adjust::none);
  ExplainOptions explain;
  set_text(explain, "hessian", "data");
  EXPECT_TRUE(explain.hessian_on_data);
  EXPECT_ERROR(set_text(explain, "hessian", "test"), ErrorKind::bad_option,
               "must be train or data");
  TrainModelOptions train;
  set_text(train, "kind", "mlp");
  set_text(train, "hidden", "24,12");
  EXPECT_EQ(train.kind, ModelKind::mlp);
  EXPECT_EQ(train.mlp.hidden, (std::vector<Index>{24, 12}));
}

}  // namespace
}  // namespace fmd
