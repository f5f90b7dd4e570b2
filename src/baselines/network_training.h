#pragma once

#include <string>

#include "baselines/methods.h"

namespace fmd::internal {

// How a method trains a network of its own on the training rows (features of the problem's
// backbone), by the plug-in of PyTorch: MLP of two hidden layers of 100, batches of 256,
// a number of steps that depends on the method and the rows. The settings of a method are
// those of its authors; where these need a choice, each is a candidate. Rows without a
// label are left out; for methods that use the attribute also those without a known one.
// Weights of rows are not used.
//
// With options.checkpoints a run that was stopped goes on to the same bits, see
// baselines/torch_training.h. Throws Error(unsupported:
// the plug-in is absent), Error(cannot_write: the checkpoint; the one before stays).
[[nodiscard]] FittedMethod fit_network(const std::string& name, const HeadProblem& problem,
                                       const BaselineOptions& options, const Exec& exec);

}  // namespace fmd::internal
