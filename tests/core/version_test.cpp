#include "fmd/version.h"

#include <gtest/gtest.h>

namespace fmd {

TEST(Version, TheLibraryAndItsHeadersAgree) { EXPECT_STREQ(version(), kVersion); }

}  // namespace fmd
