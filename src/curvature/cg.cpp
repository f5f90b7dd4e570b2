#include "curvature/cg.h"

#include <cmath>
#include <vector>

#include "core/check.h"

namespace fmd::internal {
namespace {

// One right-hand side on its way.
struct Search {
  Vector x, rest, direction;
  double size = 0;     // |b|
  double descent = 0;  // rest . M^-1 rest
  bool active = false;
};

class Cg final : public InverseHessian {
 public:
  Cg(CgSystem system, const CgOptions& options)
      : system_(std::move(system)), options_(options) {}

  [[nodiscard]] Index dim() const override { return system_.dim; }
  [[nodiscard]] double damping() const override { return options_.damping; }

  [[nodiscard]] InverseResult apply(const Matrix& b) const override {
    require_size("cg", "a right-hand side", b.rows(), dim());
    std::vector<Search> searches = start(b);
    Index steps = 0;
    while (steps < options_.max_iterations && step(searches)) ++steps;
    InverseResult result;
    result.x.resize(b.rows(), b.cols());
    for (Index j = 0; j < b.cols(); ++j)
      result.x.col(j) = searches[static_cast<std::size_t>(j)].x;
    const Matrix rest = b - system_.product(result.x);
    double worst = 0;
    for (Index j = 0; j < b.cols(); ++j) {
      const double size = b.col(j).norm();
      const double residual = size > 0 ? rest.col(j).norm() / size : 0;
      if (!(residual <= worst)) worst = residual;  // NaN too
    }
    result.summary = {.converged = worst <= 2 * options_.tolerance,
                      .residual = worst,
                      .damping = options_.damping,
                      .rcond = 0,
                      .iterations = steps,
                      .solver = "cg",
                      .cached = options_.cached};
    return result;
  }

 private:
  [[nodiscard]] std::vector<Search> start(const Matrix& b) const {
    std::vector<Search> searches;
    for (Index j = 0; j < b.cols(); ++j) {
      Search search{Vector::Zero(dim()), b.col(j), {}};
      search.size = search.rest.norm();
      search.active = search.size > 0 && std::isfinite(search.size);
      if (search.active) {
        search.direction = system_.precondition(search.rest);
        search.descent = search.rest.dot(search.direction);
      }
      searches.push_back(std::move(search));
    }
    return searches;
  }

  // One step of all that are not done; false when none is left.
  [[nodiscard]] bool step(std::vector<Search>& searches) const {
    std::vector<Search*> active;
    for (Search& search : searches)
      if (search.active) active.push_back(&search);
    if (active.empty()) return false;
    Matrix directions(dim(), static_cast<Index>(active.size()));
    for (std::size_t j = 0; j < active.size(); ++j)
      directions.col(static_cast<Index>(j)) = active[j]->direction;
    const Matrix products = system_.product(directions);
    for (std::size_t j = 0; j < active.size(); ++j)
      advance(*active[j], products.col(static_cast<Index>(j)));
    return true;
  }

  void advance(Search& search, const Vector& product) const {
    const double curvature = search.direction.dot(product);
    if (!(curvature > 0)) {  // rounding has the last word, or H is not positive
      search.active = false;
      return;
    }
    const double length = search.descent / curvature;
    search.x += length * search.direction;
    search.rest -= length * product;
    if (!(search.rest.norm() > options_.tolerance * search.size)) {
      search.active = false;
      return;
    }
    const Vector z = system_.precondition(search.rest);
    const double descent = search.rest.dot(z);
    search.direction = z + descent / search.descent * search.direction;
    search.descent = descent;
  }

  CgSystem system_;
  CgOptions options_;
};

}  // namespace

std::unique_ptr<InverseHessian> make_cg(CgSystem system, const CgOptions& options) {
  require_option(options.tolerance > 0, "cg", "tolerance", options.tolerance, "> 0");
  require_option(options.max_iterations > 0, "cg", "max_iterations", options.max_iterations,
                 "> 0");
  return std::make_unique<Cg>(std::move(system), options);
}

}  // namespace fmd::internal
