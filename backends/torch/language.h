#pragma once

#include "model/torch_abi.h"

namespace fmd::torch_plugin {

// FmdTorch::train_language, put into the table.
void add_language(struct FmdTorch& table);

}  // namespace fmd::torch_plugin
