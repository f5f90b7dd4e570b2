#pragma once

#include <cstdint>

#include "core/internal.h"
#include "fmd/core/types.h"

// The hot loops over features and logits, for the CPU that runs them. Every row's numbers
// are computed by the same operations, wherever the row is in a block.
namespace fmd::internal::kernels {

// z(i, k) = x_i . w_k + b_k; x: rows x d floats, theta: outputs rows w_k | b_k, z: rows x
// outputs.
void dense_logits(const float* x, Index rows, Index d, const double* theta, Index outputs,
                  double* z);

// into (outputs rows w_k | b_k) += sum_i h(i, k) (x_i, 1).
void dense_vjp(const float* x, Index rows, Index d, const double* h, Index outputs,
               double* into);

// to_j = scale x_j as doubles.
void widen(const float* x, Index count, double scale, double* to);

// v_j = exp(v_j) for v_j <= 0, to about 1 ulp; 0 below -708.
void exp_nonpositive(double* v, Index count);

// p = softmax of each row of z (rows x outputs); z and p must not overlap.
void softmax(const double* z, Index rows, Index outputs, double* p);

// p_j = 1 / (1 + exp(-z_j)) and q_j = 1 - p_j without cancellation.
void sigmoid(const double* z, Index count, double* p, double* q);

// loss_j = log(1 + exp(-sign_j z_j)) and p_j = 1 / (1 + exp(-z_j)); sign is +1 or -1.
void logistic_loss(const double* z, const double* sign, Index count, double* p,
                   double* loss);

}  // namespace fmd::internal::kernels
