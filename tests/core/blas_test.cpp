#include "fmd/core/blas.h"

#include <cstdio>
#include <filesystem>
#include <stdlib.h>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

#include "core/blas_kernel.h"
#include "core/lapack.h"
#include "support/close.h"

namespace fmd {
namespace {

// Runs one test of this program in a new process that begins with this variable, since
// OpenBLAS chooses its kernel before main. An empty kernel: without the variable, which the
// user's own environment may have.
int run_self(const std::string& test, const std::string& kernel) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string variable =
      kernel.empty() ? "-u OPENBLAS_CORETYPE" : "OPENBLAS_CORETYPE=" + kernel;
  const std::string command = "env " + variable + " FMD_TEST_CHILD=1 '" + self +
                              "' --gtest_filter='" + test +
                              "' --gtest_also_run_disabled_tests --gtest_brief=1";
  return std::system(command.c_str());
}

bool is_openblas() { return blas_info().library.starts_with("OpenBLAS"); }
bool is_child() { return ::getenv("FMD_TEST_CHILD") != nullptr; }

double small_gemm() {
  const int n = 2;
  const double a[] = {1, 2, 3, 4}, one = 1, zero = 0;
  double c[4];
  dgemm_("N", "N", &n, &n, &n, &one, a, &n, a, &n, &zero, c, &n);
  return c[0] + c[1] + c[2] + c[3];
}

}  // namespace

TEST(Blas, OnlyAWronglyDetectedPrescottIsRepaired) {
  EXPECT_EQ(repair_kernel("Prescott", false, "Haswell"), "Haswell");
  EXPECT_EQ(repair_kernel("Prescott", false, "SkylakeX"), "SkylakeX");
  EXPECT_EQ(repair_kernel("Prescott", false, ""), "");        // a real one
  EXPECT_EQ(repair_kernel("Prescott", true, "Haswell"), "");  // the user's wish
  EXPECT_EQ(repair_kernel("Zen", false, "Haswell"), "");
  EXPECT_EQ(repair_kernel("SkylakeX", false, "Cooperlake"), "");
  EXPECT_EQ(repair_kernel("", false, "Haswell"), "");  // no OpenBLAS
}

TEST(Blas, ACpuWithAvx2DoesNotRunThePentium4Kernel) {
  EXPECT_EQ(run_self("BlasChild.DISABLED_RunsNoPentium4Kernel", ""), 0);
}

TEST(Blas, TheUsersKernelIsLeftAlone) {
  if (!is_openblas() || best_kernel().empty()) GTEST_SKIP() << "no choice of kernels here";
  EXPECT_EQ(run_self("BlasChild.DISABLED_KeepsTheUsersKernel", "Prescott"), 0);
}

TEST(Blas, AWrongKernelIsReplaced) {
  if (!is_openblas() || best_kernel().empty()) GTEST_SKIP() << "no choice of kernels here";
  EXPECT_EQ(run_self("BlasChild.DISABLED_ReplacesAWrongKernel", "Prescott"), 0);
}

// Those below run in the processes of those above.
TEST(BlasChild, DISABLED_RunsNoPentium4Kernel) {
  ASSERT_TRUE(is_child());
  const BlasInfo info = setup_blas();
  EXPECT_FALSE(info.library.empty());
  if (!best_kernel().empty()) {
    EXPECT_NE(info.kernel, "Prescott");
  }
  EXPECT_EQ(::getenv("OPENBLAS_CORETYPE"), nullptr);
}

TEST(BlasChild, DISABLED_KeepsTheUsersKernel) {
  ASSERT_TRUE(is_child());
  const BlasInfo info = setup_blas();
  EXPECT_EQ(info.kernel, "Prescott");
  EXPECT_FALSE(info.repaired);
}

TEST(BlasChild, DISABLED_ReplacesAWrongKernel) {
  ASSERT_TRUE(is_child());
  ASSERT_EQ(blas_info().kernel, "Prescott");
  EXPECT_EQ(small_gemm(), 54);  // buffers of the old kernel are there
  ::unsetenv("OPENBLAS_CORETYPE");
  const BlasInfo info = setup_blas();
  EXPECT_EQ(info.kernel, best_kernel());
  EXPECT_TRUE(info.repaired);
  EXPECT_TRUE(blas_info().repaired);
  EXPECT_EQ(::getenv("OPENBLAS_CORETYPE"), nullptr);
  EXPECT_EQ(small_gemm(), 54);
}

}  // namespace fmd
