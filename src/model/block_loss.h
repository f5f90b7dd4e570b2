#pragma once

#include <vector>

#include "core/internal.h"
#include "fmd/core/types.h"
#include "fmd/model/head.h"
#include "fmd/model/rows.h"

// The functions of fmd/model/loss.h for whole blocks of logits at once.
namespace fmd::internal {

// p = probabilities of all classes for a block's logits (rows x outputs -> rows x classes).
void link_probabilities(Link link, const Matrix& z, Eigen::Ref<Matrix> p);
// The same for softmax and sigmoid, which the number of outputs tells apart.
void block_probabilities(const Matrix& z, Eigen::Ref<Matrix> p);

// Turns a block's logits into d(w L) / dz in place and returns sum_i w_i L_i over entries
// [first, first + z.rows()) of rows. Weight 0 counts as removed: such a row's label is not
// read.
double block_loss_gradient(const Rows& rows, Index first, Matrix& z);

// The weights of a block's entries; empty when all are 1.
std::vector<double> block_weights(const Rows& rows, Index first, Index count);

}  // namespace fmd::internal
