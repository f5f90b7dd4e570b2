#include "fmd/core/error.h"

#include <fstream>
#include <iterator>
#include <set>

#include <gtest/gtest.h>

#include "core/check.h"
#include "support/close.h"

namespace fmd {

// Scripts and CI jobs of users rely on these.
TEST(Error, IdsAndExitCodesAreFrozen) {
  EXPECT_EQ(id(ErrorKind::bad_option), "bad-option");
  EXPECT_EQ(exit_code(ErrorKind::bad_option), 2);
  EXPECT_EQ(id(ErrorKind::cannot_read), "cannot-read");
  EXPECT_EQ(exit_code(ErrorKind::cannot_read), 11);
  EXPECT_EQ(id(ErrorKind::missing_column), "missing-column");
  EXPECT_EQ(exit_code(ErrorKind::missing_column), 16);
  EXPECT_EQ(id(ErrorKind::numerical), "numerical");
  EXPECT_EQ(exit_code(ErrorKind::numerical), 27);
}

TEST(Error, EveryKindHasItsOwnId) {
  std::set<std::string_view> ids;
  for (int k = 0; k <= static_cast<int>(ErrorKind::numerical); ++k)
    EXPECT_TRUE(ids.insert(id(static_cast<ErrorKind>(k))).second);
}

TEST(Error, TheManualHasCauseAndRemedyOfEveryKind) {
  std::ifstream file(FMD_TEST_DIR "/../docs/errors.md");
  const std::string manual(std::istreambuf_iterator<char>(file), {});
  for (int k = 0; k <= static_cast<int>(ErrorKind::numerical); ++k) {
    const auto kind = static_cast<ErrorKind>(k);
    const std::string row =
        "| " + std::to_string(exit_code(kind)) + " | " + std::string(id(kind)) + " | ";
    EXPECT_NE(manual.find(row), std::string::npos) << row;
  }
}

TEST(Error, ChecksSayWhereWhatCameAndWhatIsNeeded) {
  require_option(true, "train", "l2", 0.5, ">= 0");
  EXPECT_ERROR(require_option(false, "train", "l2", -3, ">= 0"), ErrorKind::bad_option,
               "train: option l2 is -3, must be >= 0");
  require_size("solve", "theta", 14, 14);
  EXPECT_ERROR(require_size("solve", "theta", 12, 14), ErrorKind::bad_shape,
               "solve: theta has 12 entries, needs 14");
}

}  // namespace fmd
