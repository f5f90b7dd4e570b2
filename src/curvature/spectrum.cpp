#include "fmd/curvature/spectrum.h"

#include <algorithm>
#include <vector>

#include "core/check.h"
#include "fmd/core/rng.h"
#include "fmd/curvature/gauss_newton.h"
#include "fmd/curvature/generalised_eigen.h"

namespace fmd {
namespace {

Vector random_signs(Index size, Rng& rng) {
  Vector signs(size);
  for (Index j = 0; j < size; ++j) signs[j] = rng.below(2) == 0 ? -1 : 1;
  return signs;
}

double largest_eigenvalue(const std::vector<double>& diagonal,
                          const std::vector<double>& beside) {
  const auto size = static_cast<Index>(diagonal.size());
  Matrix T = Matrix::Zero(size, size);
  for (Index j = 0; j < size; ++j) {
    T(j, j) = diagonal[static_cast<std::size_t>(j)];
    if (j + 1 < size) T(j, j + 1) = T(j + 1, j) = beside[static_cast<std::size_t>(j)];
  }
  return generalised_eigen(T, Matrix::Identity(size, size)).values.maxCoeff();
}

}  // namespace

Spectrum estimate_spectrum(const GaussNewton& product, Index steps, Index probes,
                           std::uint64_t seed) {
  require_option(steps >= 1, "spectrum", "steps", steps, ">= 1");
  require_option(probes >= 1, "spectrum", "probes", probes, ">= 1");
  const Index size = product.dim();
  Rng rng(seed, "spectrum");
  std::vector<Vector> basis{random_signs(size, rng).normalized()};
  std::vector<double> diagonal, beside;
  for (Index j = 0; j < std::min(steps, size); ++j) {
    Vector next = product.apply(basis.back());
    if (!next.allFinite())
      throw Error(ErrorKind::numerical, "spectrum: the curvature is not finite",
                  "check the model's parameters and the features for NaN or infinity");
    diagonal.push_back(next.dot(basis.back()));
    const double size_before = next.norm();
    // Twice: once leaves what rounding has made of the large parts.
    for (int pass = 0; pass < 2; ++pass)
      for (const Vector& q : basis) next -= q.dot(next) * q;
    const double left = next.norm();
    if (!(left > 1e-12 * size_before)) break;
    beside.push_back(left);
    basis.push_back(next / left);
  }
  Spectrum spectrum;
  spectrum.largest = largest_eigenvalue(diagonal, beside);
  // The first probe's product is Lanczos' own.
  double sum = diagonal.front() * static_cast<double>(size);
  for (Index k = 1; k < probes; ++k) {
    const Vector probe = random_signs(size, rng);
    sum += probe.dot(product.apply(probe));
  }
  spectrum.mean = sum / static_cast<double>(probes * size);
  return spectrum;
}

}  // namespace fmd
