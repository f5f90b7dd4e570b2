#include "fmd/repair/repair_options.h"

#include <gtest/gtest.h>

#include "support/close.h"

namespace fmd {
namespace {

TEST(RepairOptions, EveryNameComesBack) {
  for (const char* name : {"solve", "path", "step", "remove", "replace", "average-column"})
    EXPECT_EQ(to_string(parse_method(name)), name);
  for (const char* name : {"auto", "lm", "adam"})
    EXPECT_EQ(to_string(parse_optimizer(name)), name);
  for (const char* name : {"", "train", "data"})
    EXPECT_EQ(to_string(parse_hessian(name)), name);
  for (const char* text : {"auto", "as-printed", "removal", "1e-5", ".25"})
    EXPECT_EQ(to_string(parse_scale(text)), text);
  for (const char* text : {"lambda=10", "s=0.5,K=100", "gamma=10,mu=0.5"})
    EXPECT_EQ(to_string(parse_at(text)), text);
}

TEST(RepairOptions, AScaleIsAFactorOfTheRows) {
  EXPECT_EQ(parse_scale("as-printed").factor(50), 1);
  EXPECT_EQ(parse_scale("removal").factor(50), 0.02);
  EXPECT_EQ(parse_scale(".25").factor(50), 0.25);
}

TEST(RepairOptions, AnUnknownNameIsAnErrorThatListsTheNames) {
  EXPECT_ERROR(parse_method("newton"), ErrorKind::bad_option,
               "debias: option method is newton, must be solve, path, step, remove, "
               "replace or average-column");
  EXPECT_ERROR(parse_optimizer("sgd"), ErrorKind::bad_option, "must be auto, lm or adam");
  EXPECT_ERROR(parse_hessian("test"), ErrorKind::bad_option, "must be train or data");
  EXPECT_ERROR(parse_scale("large"), ErrorKind::bad_option,
               "option scale is large, must be auto, as-printed, removal or a number > 0");
  EXPECT_ERROR(parse_scale("-1"), ErrorKind::bad_option, "must be auto");
  EXPECT_ERROR(parse_at("lambda"), ErrorKind::bad_option, "names no candidate");
  EXPECT_ERROR(parse_at("s=1,K=1.5"), ErrorKind::bad_option, "K=1.5");
  EXPECT_ERROR((void)to_string(static_cast<RepairMethod>(99)), ErrorKind::bad_option,
               "method is 99, which is no enumerator");
}

TEST(RepairOptions, TheLabelsMayTakeThePlaceOfTheAnchor) {
  RepairOptions options;
  options.anchor = 0;
  EXPECT_ERROR(validate(options, false), ErrorKind::bad_option,
               "option anchor is 0, must be > 0, or 0 with fit > 0");
  options.fit = 1;
  validate(options, false);
  options.anchor = -1;
  EXPECT_ERROR(validate(options, false), ErrorKind::bad_option, "option anchor is -1");
}

}  // namespace
}  // namespace fmd
