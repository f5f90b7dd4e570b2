#include "formats/recognise.h"

#include <algorithm>
#include <string_view>

#include "core/check.h"
#include "formats/onnx/onnx_file.h"
#include "formats/torch/torch_file.h"

namespace fmd::internal {
namespace {

[[noreturn]] void unsupported(const std::string& source, std::string_view what,
                              const std::string& hint) {
  throw Error(ErrorKind::unsupported,
              fmt::format("{}: this is {}, which this version cannot open", source, what),
              hint);
}

const std::string kUseScores =
    "score the data with the model's own library and give the scores: fmd audit --scores "
    "FILE";

bool begins(std::string_view text, std::string_view with) {
  return text.substr(0, with.size()) == with;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool seems_pickle(std::string_view t) {
  return t.size() > 2 && t[0] == '\x80' && t[1] >= 2 && t[1] <= 5;
}

}  // namespace

void require_safetensors(std::span<const std::uint8_t> bytes, const std::string& source) {
  if (bytes.empty())
    throw Error(ErrorKind::bad_model, fmt::format("{}: the file is empty", source),
                "give a model file that fmd train has written");
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.size() > 8 && text[8] == '{') return;
  const std::string_view head = text.substr(0, 65536);
  const auto first = std::find_if(head.begin(), head.end(), [](char c) {
    return c != ' ' && c != '\n' && c != '\r' && c != '\t';
  });
  if (begins(text, "PK\x03\x04")) refuse_archive(bytes, source);
  if (seems_pickle(text))
    unsupported(source, "a Python pickle",
                "a pickle is code and is never executed here; " + kUseScores);
  if (begins(text, "\x89HDF\r\n")) unsupported(source, "an HDF5 file (Keras)", kUseScores);
  if (begins(text, "GGUF")) unsupported(source, "a GGUF file", kUseScores);
  if (begins(text, "tree\n") || begins(text, "tree\r\n"))
    unsupported(source, "a LightGBM model", kUseScores);
  if (begins(text, "binf")) unsupported(source, "an old binary XGBoost model", kUseScores);
  if (first != head.end() && *first == '{') {
    const bool xgboost = contains(head, "learner") || contains(head, "gradient_booster");
    unsupported(source, xgboost ? "an XGBoost model" : "a JSON file", kUseScores);
  }
  if (seems_onnx(bytes)) unsupported(source, "an ONNX model", kUseScores);
  throw Error(ErrorKind::bad_model, fmt::format("{}: this is not a model file", source),
              "give a .safetensors file that fmd train has written");
}

}  // namespace fmd::internal
