// The table of the plug-in, see src/model/torch_abi.h.
#include "language.h"
#include "script.h"
#include "train.h"

extern "C" __attribute__((visibility("default"))) const void* fmd_torch() {
  static const FmdTorch table = [] {
    FmdTorch made = {};
    made.models = fmd::torch_plugin::script_table();
    made.tail = fmd::torch_plugin::script_tail;
    fmd::torch_plugin::add_training(made);
    fmd::torch_plugin::add_language(made);
    return made;
  }();
  return &table;
}
