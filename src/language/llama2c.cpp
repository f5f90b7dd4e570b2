#include "language/llama2c.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/index.h"
#include "fmd/core/error.h"

namespace fmd::internal {
namespace {

constexpr Index kSizesBytes = 28;

// Reads float32 weights one after the other.
class WeightStream {
 public:
  WeightStream(const InputFile& file, Index offset) : file_(file), offset_(offset) {}

  void read(float* into, Index count) {
    file_.read(offset_, {reinterpret_cast<std::uint8_t*>(into), at(count) * sizeof(float)});
    for (Index i = 0; i < count; ++i)
      if (!std::isfinite(into[i]))
        throw Error(ErrorKind::bad_model,
                    fmt::format("{}: the number at byte {} is not finite", file_.name(),
                                offset_ + 4 * i));
    offset_ += 4 * count;
  }
  [[nodiscard]] FloatMatrix matrix(Index rows, Index cols) {
    FloatMatrix result(rows, cols);
    read(result.data(), result.size());
    return result;
  }
  void skip(Index count) { offset_ += 4 * count; }

 private:
  const InputFile& file_;
  Index offset_;
};

// The sizes at the start of the file, checked one by one.
ModelConfig sizes_of(const InputFile& file, bool& shared) {
  std::array<std::int32_t, 7> sizes{};
  if (file.size() < kSizesBytes)
    throw Error(
        ErrorKind::bad_model,
        fmt::format("{}: no model of llama2.c: it has {} bytes", file.name(), file.size()));
  file.read(0, {reinterpret_cast<std::uint8_t*>(sizes.data()), at(kSizesBytes)});
  shared = sizes[5] > 0;  // a head of its own is written as a negative vocabulary
  sizes[5] = sizes[5] < 0 && sizes[5] > -(1 << 24) ? -sizes[5] : sizes[5];
  for (const std::int32_t size : sizes)
    if (size < 1 || size > (1 << 24))
      throw Error(ErrorKind::bad_model,
                  fmt::format("{}: no model of llama2.c: one of its sizes is {}",
                              file.name(), size),
                  "only the first version of the format is read, in float32");
  ModelConfig config;
  config.type = "llama";
  config.cols = sizes[0];
  config.hidden = sizes[1];
  config.layers = sizes[2];
  config.heads = sizes[3];
  config.key_heads = sizes[4];
  config.vocabulary = sizes[5];
  config.context = sizes[6];
  config.head_size = config.cols / config.heads;
  config.norm_epsilon = 1e-5;
  config.rope_theta = 10000;
  config.tied = shared;
  config.first = 1;
  if (config.cols % config.heads != 0 || config.heads % config.key_heads != 0 ||
      config.head_size % 2 != 0)
    throw Error(
        ErrorKind::bad_model,
        fmt::format("{}: no model of llama2.c: {} heads and {} key heads do not fit "
                    "a width of {}",
                    file.name(), config.heads, config.key_heads, config.cols));
  return config;
}

// How many weights the sizes ask for, as a double: it cannot overflow.
double weights_of(const ModelConfig& c, bool shared) {
  const auto d = static_cast<double>(c.cols),
             keys = static_cast<double>(c.key_heads) * static_cast<double>(c.head_size);
  const double layer =
      2 * d + 2 * d * d + 2 * d * keys + 3 * d * static_cast<double>(c.hidden);
  const double vocabulary = static_cast<double>(c.vocabulary) * d;
  return vocabulary * (shared ? 1 : 2) + static_cast<double>(c.layers) * layer + d +
         static_cast<double>(c.context) * static_cast<double>(c.head_size);
}

}  // namespace

Llama2cFile read_llama2c(const InputFile& file) {
  bool shared = true;
  const ModelConfig c = sizes_of(file, shared);
  const double bytes = 4 * weights_of(c, shared) + static_cast<double>(kSizesBytes);
  if (bytes != static_cast<double>(file.size()))
    throw Error(ErrorKind::bad_model,
                fmt::format("{}: no model of llama2.c: its sizes ask for {:.0f} bytes, it "
                            "has {}",
                            file.name(), bytes, file.size()));
  WeightStream in(file, kSizesBytes);
  Llama2cFile result;
  result.config = result.model.config = c;
  result.model.adjacent_pairs = true;
  result.embedding = in.matrix(c.vocabulary, c.cols);
  auto& layers = result.model.layers;
  layers.resize(at(c.layers));
  const Index queries = c.heads * c.head_size, keys = c.key_heads * c.head_size;
  const auto all = [&](auto field, Index rows, Index cols) {
    for (LlamaLayer& layer : layers) layer.*field = in.matrix(rows, cols);
  };
  const auto norms = [&](auto field) {
    for (LlamaLayer& layer : layers) {
      (layer.*field).resize(at(c.cols));
      in.read((layer.*field).data(), c.cols);
    }
  };
  norms(&LlamaLayer::attention_norm);
  all(&LlamaLayer::query, queries, c.cols);
  all(&LlamaLayer::key, keys, c.cols);
  all(&LlamaLayer::value, keys, c.cols);
  all(&LlamaLayer::output, c.cols, queries);
  norms(&LlamaLayer::network_norm);
  all(&LlamaLayer::gate, c.hidden, c.cols);
  all(&LlamaLayer::down, c.cols, c.hidden);
  all(&LlamaLayer::up, c.hidden, c.cols);
  result.model.norm.resize(at(c.cols));
  in.read(result.model.norm.data(), c.cols);
  in.skip(c.context * c.head_size);  // rotations: computed again where they are needed
  if (!shared) result.head = in.matrix(c.vocabulary, c.cols);
  Sha256 hash;
  Bytes piece;
  const Index end = file.size() - (shared ? 0 : 4 * c.vocabulary * c.cols);
  for (Index done = 0; done < end; done += std::ssize(piece)) {
    piece.resize(at(std::min<Index>(Index{1} << 22, end - done)));
    file.read(done, piece);
    hash.add(piece);
  }
  result.hash = hash.finish();
  return result;
}

}  // namespace fmd::internal
