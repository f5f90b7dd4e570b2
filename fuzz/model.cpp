#include "fmd/formats/model_file.h"
#include "support/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fmd;
  const auto model = fuzz::accepted([&] {
    return parse_model({data, size}, "fuzz.model");
  });
  if (!model) return 0;
  const Bytes bytes = model_bytes(*model);
  const Model again = parse_model(bytes, "again");
  fuzz::require(again.task == model->task, "the task is kept");
  fuzz::require(again.theta == model->theta, "the parameters are kept");
  fuzz::require(model_bytes(again) == bytes, "same model, same bytes");
  return 0;
}
