#include "fmd/model/passes.h"

#include <vector>

#include "core/check.h"
#include "core/value_and_vector.h"
#include "fmd/core/accumulator.h"
#include "fmd/model/linear_head.h"
#include "fmd/model/loss.h"
#include "model/block_loss.h"

namespace fmd {
namespace {

void require_fit(const Head& head, const Rows& rows, const Vector& theta) {
  require_size("head", "theta", theta.size(), head.parameters());
  if (rows.X == nullptr)
    throw Error(ErrorKind::bad_shape, "head: the rows have no features");
  require_size("head", "a row of features", rows.X->cols(), head.inputs());
}

}  // namespace

Matrix all_logits(const Head& head, const Rows& rows, const Vector& theta,
                  const Exec& exec) {
  require_fit(head, rows, theta);
  Matrix all(rows.size(), head.outputs());
  exec.for_each(block_count(rows.size()), [&](Index b) {
    Scratch scratch;
    Matrix z;
    head.logits(rows.block(b, scratch), theta, z);
    all.middleRows(b * kBlockRows, z.rows()) = z;
  });
  return all;
}

Matrix all_probabilities(const Head& head, const Rows& rows, const Vector& theta,
                         const Exec& exec) {
  require_fit(head, rows, theta);
  Matrix all(rows.size(), classes_of(head.outputs()));
  exec.for_each(block_count(rows.size()), [&](Index b) {
    Scratch scratch;
    Matrix z;
    head.logits(rows.block(b, scratch), theta, z);
    link_probabilities(head.link(), z, all.middleRows(b * kBlockRows, z.rows()));
  });
  return all;
}

Matrix all_jvp(const Head& head, const Rows& rows, const Vector& theta, const Vector& v,
               const Exec& exec) {
  require_fit(head, rows, theta);
  Matrix all(rows.size(), head.outputs());
  exec.for_each(block_count(rows.size()), [&](Index b) {
    Scratch scratch;
    Matrix z, u;
    Tape tape;
    const FeatureBlock block = rows.block(b, scratch);
    if (!head.linear()) head.logits(block, theta, z, &tape);
    head.jvp(block, theta, tape, v, u);
    all.middleRows(b * kBlockRows, u.rows()) = u;
  });
  return all;
}

Matrix all_input_slopes(const Head& head, const Rows& rows, const Vector& theta,
                        Index feature, const Exec& exec) {
  require_fit(head, rows, theta);
  if (const LinearHead* linear = head.as_linear()) {
    Matrix all(rows.size(), head.outputs());
    for (Index k = 0; k < head.outputs(); ++k) {
      const Index place = linear->weight(k, feature);
      all.col(k).setConstant(place < 0 ? 0 : theta[place]);
    }
    return all;
  }
  // A change of feature j moves the first layer as a change of its intercepts by column j.
  const LinearHead first = layers_of(head).front().head;
  Vector v = Vector::Zero(theta.size());
  for (Index k = 0; k < first.outputs(); ++k)
    v[first.intercept(k)] = theta[first.weight(k, feature)];
  return all_jvp(head, rows, theta, v, exec);
}

Objective objective(const Head& head, const Rows& rows, const Vector& theta, double l2,
                    double rows_in_mean, const Exec& exec) {
  require_fit(head, rows, theta);
  require_loss(head, "objective");
  require_option(l2 >= 0, "objective", "l2", l2, ">= 0");
  require_option(rows_in_mean >= 0, "objective", "rows_in_mean", rows_in_mean, ">= 0");
  const double n = rows_in_mean > 0 ? rows_in_mean : static_cast<double>(rows.size());
  auto sum = reduce<ValueAndVector>(
      block_count(rows.size()), [&] { return empty_sum(head.parameters()); },
      [&](ValueAndVector& state, Index b) {
        Scratch scratch;
        Matrix z;
        Tape tape;
        const FeatureBlock block = rows.block(b, scratch);
        head.logits(block, theta, z, &tape);
        state.value += block_loss_gradient(rows, b * kBlockRows, z);
        head.vjp(block, theta, tape, z, state.vector);
      },
      exec);
  const Vector ridge = ridge_gradient(head, theta, l2);
  if (n == 0) return {0.5 * ridge.dot(theta), ridge};
  return {sum.value / n + 0.5 * ridge.dot(theta), sum.vector / n + ridge};
}

Vector ridge_gradient(const Head& head, const Vector& theta, double l2) {
  require_size("head", "theta", theta.size(), head.parameters());
  Vector ridge = l2 * theta;
  for (const HeadLayer& layer : layers_of(head))
    for (const Index place : layer.head.intercepts()) ridge[layer.start + place] = 0;
  return ridge;
}

}  // namespace fmd
