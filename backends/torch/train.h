#pragma once

#include "model/torch_abi.h"

namespace fmd::torch_plugin {

// The functions of FmdTorch that train, put into the table.
void add_training(struct FmdTorch& table);

}  // namespace fmd::torch_plugin
