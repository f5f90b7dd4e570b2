#include "fmd/formats/model_file.h"
#include "formats/onnx/onnx_file.h"
#include "support/fuzz.h"

// Nothing is run: reading, looking for the head, writing other numbers.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fmd;
  const auto open = [](Bytes bytes) {
    return open_onnx(
        FileSet::in_memory("/fuzz/absent/fuzz.onnx", {{"", std::move(bytes)}}));
  };
  const auto file = fuzz::accepted([&] { return open(Bytes(data, data + size)); });
  if (!file) return 0;
  const Model& model = (*file)->model();
  fuzz::require(model.theta.size() == model.head->parameters(), "theta fits the head");
  fuzz::require(!(*file)->details().empty(), "there are words for it");
  fuzz::require((*file)->patch(model).ranges.empty(), "the same numbers change nothing");
  Vector theta = model.theta;
  for (Index i = 0; i < theta.size(); ++i) theta[i] = static_cast<float>(i % 13) - 6.0F;
  const auto patch =
      fuzz::accepted([&] { return (*file)->patch(with_theta(model, theta)); });
  if (!patch) return 0;  // a factor of Gemm may make them too large
  const auto changed = apply_patch((*file)->files(), *patch);
  if (!changed.contains("")) return 0;
  const auto again = open(changed.at(""));
  fuzz::require(changed.at("").size() == size, "the file keeps its length");
  fuzz::require(again->model().theta.size() == theta.size(), "the head stays");
  fuzz::require(again->model().backbone->hash() == model.backbone->hash(),
                "what is below stays");
  return 0;
}
