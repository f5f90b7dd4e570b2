#include "fmd/curvature/spectrum.h"

#include <Eigen/Eigenvalues>
#include <gtest/gtest.h>

#include "support/close.h"
#include "support/deep.h"

namespace fmd {
namespace {

using test::Deep;

TEST(Spectrum, LanczosFindsTheLargestAndProbesTheMean) {
  const Deep d(Activation::tanh);
  const GaussNewton product = d.product({.l2 = 0.001});
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(product.matrix());
  const double largest = eigen.eigenvalues().maxCoeff(), mean = eigen.eigenvalues().mean();
  const Spectrum all = estimate_spectrum(product, 60, 200, 1);
  EXPECT_CLOSE(all.largest, largest, 1e-9);
  EXPECT_CLOSE(all.mean, mean, 0.1);
  const Spectrum few = estimate_spectrum(product, 12, 1, 1);
  EXPECT_LE(few.largest, largest * (1 + 1e-12));
  EXPECT_GE(few.largest, 0.95 * largest);
}

}  // namespace
}  // namespace fmd
