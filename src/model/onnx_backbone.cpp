#include "model/onnx_backbone.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <mutex>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "core/check.h"
#include "core/index.h"
#include "data/images/image.h"
#include "fmd/core/bytes.h"
#include "fmd/core/file.h"
#include "fmd/core/safe_text.h"
#include "model/feature_cache.h"
#include "model/half.h"

namespace fmd::internal {
namespace {

constexpr std::int32_t kFloat = 1, kInt32 = 6, kInt64 = 7, kText = 8, kHalf = 10,
                       kDouble = 11;
constexpr Index kMostBatch = 256, kBatchNumbers = Index{1} << 19;

bool is_number(std::int32_t type) {
  return type == kFloat || type == kDouble || type == kHalf || type == kInt32 ||
         type == kInt64;
}

[[noreturn]] void bad_input(const std::string& source, const std::string& what,
                            const std::string& hint) {
  throw Error(ErrorKind::bad_task, fmt::format("{}: {}", source, what), hint);
}

std::string shape_words(const std::vector<Index>& dims) {
  std::string text;
  for (const Index dim : dims)
    text += (text.empty() ? "" : " x ") + (dim < 0 ? "?" : std::to_string(dim));
  return text.empty() ? "one number" : text;
}

// Numbers of a row of this input where its shape says so, otherwise -1.
Index row_size(const OnnxInput& input) {
  Index size = 1;
  for (std::size_t d = 1; d < input.dims.size(); ++d) {
    if (input.dims[d] < 0) return -1;
    if (size > (Index{1} << 31) / input.dims[d]) return -1;
    size *= input.dims[d];
  }
  return size;
}

// A column's cell as a number of the model. Whole numbers must be whole.
double cell_number(const Table& table, const Column& column, Index row, bool whole) {
  const double value = column.numbers[at(row)];
  if (whole && !(std::abs(value) < 9e15 && value == std::floor(value)))
    throw Error(ErrorKind::bad_value,
                fmt::format("{}, column \"{}\": \"{}\" is not a whole number",
                            table.where(row), column.name, column.text(row)),
                "the model reads whole numbers here");
  return value;
}

const Column& typed_column(const Table& table, const std::string& name, bool text) {
  const Column& column = table.column(name);
  if ((column.kind == ColumnKind::category) != text)
    throw Error(ErrorKind::bad_data,
                fmt::format("{}, column \"{}\" holds {}, the model reads {}", table.source,
                            name, text ? "numbers" : "texts", text ? "texts" : "numbers"),
                "give the column as the model was trained on it");
  return column;
}

// An error of a row names the row.
template <typename Work>
auto at_row(const Table& table, Index row, Work&& work) {
  try {
    return work();
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}: {}", table.where(row), error.what()),
                error.hint());
  }
}

Hash hash_of(const InputFile& file, const ExternalData& part) {
  constexpr Index kPiece = Index{1} << 22;
  const Index left = file.size() - part.offset;
  if (left < 0 || part.length > left)
    throw Error(ErrorKind::bad_model,
                fmt::format("{}: bytes {} on are not there", file.name(), part.offset),
                "the model names more bytes than its external data has");
  const Index end = part.offset + (part.length < 0 ? left : part.length);
  Sha256 hash;
  Bytes piece;
  for (Index at = part.offset; at < end; at += std::ssize(piece)) {
    piece.resize(static_cast<std::size_t>(std::min(kPiece, end - at)));
    file.read(at, piece);
    hash.add(piece);
  }
  return hash.finish();
}

// Without a word: the one input with four dimensions is the image that column "file" names.
std::vector<InputSpec> plain_image(const std::vector<OnnxInput>& inputs) {
  std::vector<InputSpec> specs;
  for (const OnnxInput& input : inputs)
    if (input.dims.size() == 4) specs.push_back({.name = input.name, .image = "file"});
  return specs;
}

}  // namespace

// One input of one batch, in the type that the model reads.
struct OnnxBatch {
  std::vector<std::int64_t> shape;
  std::vector<float> floats;          // of float16 too, until view()
  std::vector<std::uint16_t> halves;  // of them, for the library
  std::vector<double> doubles;
  std::vector<std::int32_t> ints;
  std::vector<std::int64_t> longs;
  std::vector<std::string> texts;
  std::vector<const char*> pointers;

  // Makes room for `count` numbers of this type, taken from floats.
  void take(const std::vector<float>& from, std::int32_t type) {
    if (type == kFloat || type == kHalf) floats = from;
    if (type == kDouble) doubles.assign(from.begin(), from.end());
    if (type == kInt32)
      for (const float v : from) ints.push_back(static_cast<std::int32_t>(v));
    if (type == kInt64)
      for (const float v : from) longs.push_back(static_cast<std::int64_t>(v));
  }
  [[nodiscard]] FmdOnnxTensor view(const OnnxInput& input) {
    FmdOnnxTensor t{.name = input.name.c_str(),
                    .type = input.type,
                    .rank = static_cast<std::int32_t>(shape.size()),
                    .shape = shape.data(),
                    .data = nullptr,
                    .size = 0};
    const auto numbers = [&](const auto& values) {
      t.data = values.data();
      t.size = values.size() * sizeof(values[0]);
    };
    if (input.type == kFloat) numbers(floats);
    if (input.type == kHalf) {
      for (const float value : floats) halves.push_back(to_half(value));
      numbers(halves);
    }
    if (input.type == kDouble) numbers(doubles);
    if (input.type == kInt32) numbers(ints);
    if (input.type == kInt64) numbers(longs);
    if (input.type == kText) {
      for (const std::string& text : texts) pointers.push_back(text.c_str());
      t.data = pointers.data();
      t.size = pointers.size();
    }
    return t;
  }
};

// The opened library; the first call of features() opens it.
struct OnnxBackbone::Session {
  std::mutex mutex;
  const FmdOnnx* table = nullptr;
  void* model = nullptr;
  std::once_flag hashed;
  Hash below{};

  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() {
    if (model != nullptr) table->close(model);
  }

  void open(const OnnxPart& part, const Exec& exec) {
    const std::scoped_lock lock(mutex);
    if (model != nullptr) return;
    const Runtime& runtime = part.runtime;
    table = static_cast<const FmdOnnx*>(
        open_backend(runtime.backend, runtime.version, exec.backends,
                     fmt::format("{}: {}", part.source, runtime.model), runtime.hint));
    std::string libraries = "libonnxruntime.so.1\nlibonnxruntime.so";
    if (exec.backends != nullptr && exec.backends->contains("onnxruntime")) {
      libraries.clear();
      for (const std::string& file : exec.backends->at("onnxruntime"))
        libraries += (libraries.empty() ? "" : "\n") + file;
    }
    std::array<char, 2048> message{};
    const std::string folder = part.folder.empty() ? "." : part.folder.string();
    model = table->open(libraries.c_str(), part.bytes.data(), part.bytes.size(),
                        part.outside.empty() ? nullptr : folder.c_str(), message.data(),
                        message.size());
    if (model != nullptr) return;
    const std::string reason = safe_text(message.data());
    const bool absent = reason.starts_with("ONNX Runtime cannot be opened");
    throw Error(absent ? ErrorKind::unsupported : ErrorKind::bad_model,
                fmt::format("{}: {}{}", part.source,
                            absent ? "" : runtime.name + " refuses it: ", reason),
                absent ? "install it (pip install onnxruntime) and name its library: "
                         "FMD_ORT_LIB=.../libonnxruntime.so.1.x"
                       : "check that the model runs in " + runtime.name);
  }
};

// The features of images and tensors that were run already, by the hashes of the rows.
// Commands ask for the same rows several times, and images take long.
struct OnnxBackbone::Kept {
  static constexpr Index kMostNumbers = Index{1} << 25;  // 128 MB
  std::mutex mutex;
  std::unordered_map<Hash, std::vector<float>, HashKey> features;
  std::unordered_map<std::string, Hash> images;  // by name
  std::optional<FeatureCache> cache;  // between commands; opened by the first call
};

Index OnnxBackbone::Bound::size() const {
  return std::accumulate(shape.begin(), shape.end(), Index{1}, std::multiplies<>());
}

OnnxBackbone::OnnxBackbone(OnnxPart part)
    : part_(std::make_shared<const OnnxPart>(std::move(part))),
      session_(std::make_shared<Session>()) {
  bind({});
}

std::shared_ptr<const Backbone> OnnxBackbone::with_inputs(
    const std::vector<InputSpec>& specs, const InputFiles& files) const {
  auto made = std::make_shared<OnnxBackbone>(*this);
  made->images_.reset();
  made->kept_.reset();
  made->cache_ = files.cache;
  made->bind(specs.empty() && !files.images.empty() ? plain_image(part_->inputs) : specs);
  const bool pictures = std::any_of(made->bound_.begin(), made->bound_.end(),
                                    [](const Bound& b) { return !b.spec.image.empty(); });
  if (!files.images.empty() && !pictures)
    bad_input(part_->source, "--images: no input is an image", "leave --images out");
  if (!files.images.empty())
    made->images_ = std::make_shared<const ImageFiles>(files.images);
  // Columns alone are quick to run again.
  if (std::any_of(made->bound_.begin(), made->bound_.end(), [](const Bound& b) {
        return !b.spec.image.empty() || !b.spec.tensor.empty();
      }))
    made->kept_ = std::make_shared<Kept>();
  made->pairs_.reset();
  if (!files.pair_images.empty()) {
    InputFiles other = files;
    other.images = std::exchange(other.pair_images, {});
    made->pairs_ = std::static_pointer_cast<const OnnxBackbone>(with_inputs(specs, other));
  }
  if (!specs.empty() && made->bound_.empty())
    bad_input(part_->source, made->unbound_, "write one [[inputs]] for each in task.toml");
  return made;
}

// Without a word, an input that takes one number or text a row is the column of its name.
void OnnxBackbone::bind(const std::vector<InputSpec>& specs) {
  bound_.clear();
  schema_ = {};
  unbound_.clear();
  std::vector<bool> used(specs.size(), false);
  for (const OnnxInput& input : part_->inputs) {
    InputSpec spec;
    const auto found = std::find_if(specs.begin(), specs.end(), [&](const InputSpec& s) {
      return s.name == input.name || (s.name.empty() && part_->inputs.size() == 1);
    });
    if (found != specs.end()) {
      spec = *found;
      used[static_cast<std::size_t>(found - specs.begin())] = true;
    } else if (row_size(input) == 1 && !input.name.empty()) {
      spec.columns = {input.name};
    } else {
      unbound_ = fmt::format(
          "its input \"{}\" takes {} {} for each row, and nothing says "
          "from where",
          safe_text(input.name),
          shape_words({input.dims.begin() + !input.dims.empty(), input.dims.end()}),
          input.type == kText ? "texts" : "numbers");
    }
    spec.name = input.name;
    if (unbound_.empty()) bind_one(input, spec);
  }
  for (std::size_t s = 0; s < specs.size(); ++s)
    if (!used[s])
      bad_input(
          part_->source,
          specs[s].name.empty()
              ? fmt::format("[[inputs]] needs a name: the model has {} inputs",
                            part_->inputs.size())
              : fmt::format("the model has no input \"{}\"", safe_text(specs[s].name)),
          "fmd model FILE lists the inputs");
  if (!unbound_.empty()) bound_.clear(), schema_ = {};
}

void OnnxBackbone::bind_one(const OnnxInput& input, const InputSpec& spec) {
  if (!is_number(input.type) && input.type != kText)
    bad_input(part_->source,
              fmt::format("its input \"{}\" has a type that cannot be given (number {} of "
                          "ONNX's types)",
                          safe_text(input.name), input.type),
              "export the model with float32 inputs");
  if (!spec.image.empty()) {
    bound_.push_back(bind_image(input, spec));
  } else if (!spec.tensor.empty()) {
    Bound made{spec, {}, true};
    if (!input.dims.empty()) made.shape.assign(input.dims.begin() + 1, input.dims.end());
    schema_.tensors.push_back(input.name);
    bound_.push_back(std::move(made));
  } else {
    bound_.push_back(bind_columns(input, spec));
  }
}

void OnnxBackbone::add_column(const std::string& name, ColumnKind kind) {
  if (!schema_.reads(name)) schema_.columns.push_back({name, kind, {}, true});
}

// The shape tells where the channels stand: 3 x 64 x 64 or 64 x 64 x 3.
OnnxBackbone::Bound OnnxBackbone::bind_image(const OnnxInput& input,
                                             const InputSpec& spec) {
  if ((input.type != kFloat && input.type != kHalf) || input.dims.size() != 4)
    bad_input(part_->source,
              fmt::format("its input \"{}\" ({}) is not an image: that needs float32 or "
                          "float16 and four dimensions",
                          safe_text(input.name), shape_words(input.dims)),
              "give columns or a tensor for it");
  Bound made{spec, {}, true};
  const auto takes = [&](Index count) {
    return input.dims[1] == count || input.dims[3] == count;
  };
  if (spec.channels == "rgb" && !takes(3) && takes(1)) made.spec.channels = "gray";
  const Index channels = made.spec.channels == "gray" ? 1 : 3;
  const bool first = input.dims[1] == channels, last = input.dims[3] == channels;
  if (!first && !last)
    bad_input(part_->source,
              fmt::format("its input \"{}\" ({}) does not take {} channels",
                          safe_text(input.name), shape_words(input.dims), channels),
              "set channels to rgb, bgr or gray");
  made.planes = first;
  std::vector<Index> sides = first ? std::vector<Index>{input.dims[2], input.dims[3]}
                                   : std::vector<Index>{input.dims[1], input.dims[2]};
  std::vector<Index> wanted = spec.crop;
  if (wanted.empty() && spec.size.size() == 2) wanted = spec.size;
  if (wanted.size() == 1) wanted.push_back(wanted[0]);
  for (std::size_t k = 0; k < 2; ++k) {
    if (sides[k] < 0 && wanted.size() == 2) sides[k] = wanted[k];
    if (sides[k] < 0)
      bad_input(
          part_->source,
          fmt::format("its input \"{}\" takes images of any size", safe_text(input.name)),
          "say which: size = [height, width] in [[inputs]]");
    if (wanted.size() == 2 && wanted[k] != sides[k])
      bad_input(
          part_->source,
          fmt::format("its input \"{}\" takes images of {} x {}, [[inputs]] makes {} x "
                      "{}",
                      safe_text(input.name), sides[0], sides[1], wanted[0], wanted[1]),
          "change size and crop");
  }
  made.shape = first ? std::vector<Index>{channels, sides[0], sides[1]}
                     : std::vector<Index>{sides[0], sides[1], channels};
  add_column(spec.image, ColumnKind::category);
  schema_.files.push_back(spec.image);
  return made;
}

OnnxBackbone::Bound OnnxBackbone::bind_columns(const OnnxInput& input,
                                               const InputSpec& spec) {
  const Index wanted = row_size(input), given = std::ssize(spec.columns);
  const std::size_t rank = input.dims.size();
  const bool open = rank == 2 && input.dims[1] < 0;
  if (!open && wanted != given)
    bad_input(part_->source,
              fmt::format("its input \"{}\" takes {} numbers for each row, {} columns are "
                          "named",
                          safe_text(input.name),
                          shape_words({input.dims.begin() + (rank > 0), input.dims.end()}),
                          given),
              "name one column for each number, in the model's order");
  Bound made{spec, {}, true};
  if (open) {
    made.shape = {given};
  } else if (rank > 0) {
    made.shape.assign(input.dims.begin() + 1, input.dims.end());
  }
  for (const std::string& name : spec.columns)
    add_column(name, input.type == kText ? ColumnKind::category : ColumnKind::number);
  return made;
}

Hash OnnxBackbone::hash() const {
  std::call_once(session_->hashed, [&] {
    ByteWriter all;
    const auto put = [&](std::span<const std::uint8_t> bytes) {
      const Hash one = sha256(bytes);
      all.put_raw(one.data(), one.size());
    };
    put(part_->bytes);
    for (const ExternalData& part : part_->outside) {
      const Hash one = hash_of(*InputFile::open(part_->folder / part.file), part);
      all.put_raw(one.data(), one.size());
    }
    all.put_text(part_->output);
    session_->below = sha256(all.take());
  });
  ByteWriter all;
  all.put_raw(session_->below.data(), session_->below.size());
  for (const Bound& b : bound_) {
    all.put_text(b.spec.name);
    for (const std::string& column : b.spec.columns) all.put_text(column);
    if (b.spec.image.empty()) continue;
    all.put_text(b.spec.channels);
    all.put_array(std::span<const Index>(b.spec.size));
    all.put_array(std::span<const Index>(b.spec.crop));
    all.put(b.spec.scale);
    all.put_array(std::span<const double>(b.spec.mean));
    all.put_array(std::span<const double>(b.spec.std));
  }
  return sha256(all.take());
}

// The same for every call: how many rows a batch has must not depend on the rows.
Index OnnxBackbone::batch_rows() const {
  Index widest = 1;
  for (std::size_t k = 0; k < bound_.size(); ++k) {
    const OnnxInput& input = part_->inputs[k];
    if (!input.dims.empty() && input.dims[0] > 0) return input.dims[0];
    widest = std::max(widest, std::abs(bound_[k].size()));
  }
  return std::clamp(kBatchNumbers / widest, Index{8}, kMostBatch);
}

void OnnxBackbone::fill_images(const Bound& bound, const Table& table,
                               std::span<const Index> rows, const FmdImages& decoder,
                               OnnxBatch& into) const {
  const Column& column = typed_column(table, bound.spec.image, true);
  into.floats.resize(rows.size() * at(bound.size()));
  const Index height = bound.shape[bound.planes ? 1 : 0];
  const Index width = bound.shape[bound.planes ? 2 : 1];
  for (std::size_t i = 0; i < rows.size(); ++i) {
    float* to = into.floats.data() + i * at(bound.size());
    if (i > 0 && rows[i] == rows[i - 1]) {  // a row that fills the batch
      std::copy_n(to - bound.size(), bound.size(), to);
      continue;
    }
    const std::string name = column.text(rows[i]);
    at_row(table, rows[i], [&] {
      const Image image =
          prepared(decode_image(decoder, images_->read(name), name), bound.spec, name);
      if (image.height != height || image.width != width)
        throw Error(ErrorKind::bad_data,
                    fmt::format("image \"{}\" is {} x {}, the model takes {} x {}",
                                safe_text(name), image.height, image.width, height, width),
                    fmt::format("write size = [{}, {}] in [[inputs]]", height, width));
      image_numbers(image, bound.spec, bound.planes, to);
    });
  }
}

void OnnxBackbone::fill(std::size_t k, const Table& table, std::span<const Index> rows,
                        const FmdImages* decoder, OnnxBatch& into) const {
  const OnnxInput& input = part_->inputs[k];
  const Bound& bound = bound_[k];
  std::vector<Index> shape = bound.shape;
  const bool text = input.type == kText;
  if (!bound.spec.image.empty()) {
    fill_images(bound, table, rows, *decoder, into);
  } else if (!bound.spec.tensor.empty()) {
    const TensorColumn& tensor = Inputs(table).tensor(input.name);
    bool fits = tensor.shape.size() == shape.size();
    for (std::size_t d = 0; fits && d < shape.size(); ++d)
      fits = shape[d] < 0 || shape[d] == tensor.shape[d];
    if (!fits)
      bad_input(
          part_->source,
          fmt::format("its input \"{}\" takes {} for each row, the tensor has {}",
                      safe_text(input.name), shape_words(shape), shape_words(tensor.shape)),
          "give a tensor of the model's shape");
    shape = tensor.shape;
    std::vector<float> values(rows.size() * at(tensor.size()));
    tensor.read(rows, values.data());
    into.take(values, input.type);
  } else {
    std::vector<const Column*> columns;
    for (const std::string& name : bound.spec.columns)
      columns.push_back(&typed_column(table, name, text));
    const bool whole = input.type == kInt32 || input.type == kInt64;
    for (const Index row : rows) {
      for (const Column* column : columns) {
        if (text) {
          into.texts.push_back(column->text(row));
          continue;
        }
        const double value = cell_number(table, *column, row, whole);
        if (input.type == kFloat || input.type == kHalf)
          into.floats.push_back(static_cast<float>(value));
        if (input.type == kDouble) into.doubles.push_back(value);
        if (input.type == kInt32) into.ints.push_back(static_cast<std::int32_t>(value));
        if (input.type == kInt64) into.longs.push_back(static_cast<std::int64_t>(value));
      }
    }
  }
  if (input.type == kHalf)
    for (float& value : into.floats) value = from_half(to_half(value));
  if (!input.dims.empty()) into.shape.push_back(std::ssize(rows));
  into.shape.insert(into.shape.end(), shape.begin(), shape.end());
}

void OnnxBackbone::run_batch(const Session* session, const FmdImages* decoder,
                             const Inputs& inputs, std::span<const Index> rows,
                             float* into) const {
  std::vector<OnnxBatch> batch(bound_.size());
  const auto count = std::ssize(rows);
  for (std::size_t k = 0; k < bound_.size(); ++k)
    fill(k, *inputs.table, rows, decoder, batch[k]);
  const Index numbers = count * part_->cols;
  if (session == nullptr) {  // the head reads the input itself
    const OnnxBatch& t = batch.at(0);
    const auto copy = [&](const auto& values) {
      require_size("model", "input", std::ssize(values), numbers);
      for (Index i = 0; i < numbers; ++i) into[i] = static_cast<float>(values.at(at(i)));
    };
    switch (part_->inputs[0].type) {
      case kFloat:
      case kHalf:
        return copy(t.floats);
      case kDouble:
        return copy(t.doubles);
      case kInt32:
        return copy(t.ints);
      default:
        return copy(t.longs);
    }
  }
  std::vector<FmdOnnxTensor> views;
  for (std::size_t k = 0; k < batch.size(); ++k)
    views.push_back(batch[k].view(part_->inputs[k]));
  std::array<char, 2048> message{};
  if (session->table->run(session->model, views.data(),
                          static_cast<std::int32_t>(views.size()), part_->output.c_str(),
                          into, numbers, message.data(), message.size()) == 0)
    throw Error(ErrorKind::bad_model,
                fmt::format("{}: {} stops: {}", part_->source, part_->runtime.name,
                            safe_text(message.data())),
                "check that the model takes inputs of this shape: fmd model FILE");
}

// Null where no input is an image.
const FmdImages* OnnxBackbone::image_decoder(const Exec& exec) const {
  if (std::none_of(bound_.begin(), bound_.end(),
                   [](const Bound& b) { return !b.spec.image.empty(); }))
    return nullptr;
  if (!images_)
    throw Error(ErrorKind::bad_option,
                fmt::format("{}: the model reads images, and nothing says where they are",
                            part_->source),
                "name the folder or the tar file: --images DIR");
  return static_cast<const FmdImages*>(
      open_backend("images", kFmdImagesVersion, exec.backends,
                   fmt::format("{}: a model of images", part_->source),
                   "build fmd where libjpeg and libpng are installed"));
}

// The hash of every image file that these rows name and that is not known yet.
std::unordered_map<std::string, Hash> OnnxBackbone::image_hashes(
    const Inputs& inputs, std::span<const Index> rows, const Exec& exec) const {
  std::unordered_map<std::string, Hash> known;
  std::vector<std::pair<std::string, Index>> missing;  // with the first row that names it
  for (const Bound& b : bound_) {
    if (b.spec.image.empty()) continue;
    const Column& column = typed_column(*inputs.table, b.spec.image, true);
    for (const Index row : rows) {
      const std::string name = column.text(row);
      if (!kept_->images.contains(name) && known.emplace(name, Hash{}).second)
        missing.emplace_back(name, row);
    }
  }
  if (!missing.empty()) (void)image_decoder(exec);  // says what is missing, images or code
  std::vector<Hash> hashes(missing.size());
  exec.for_each(std::ssize(missing), [&](Index i) {
    const auto& [name, row] = missing[at(i)];
    hashes[at(i)] = at_row(*inputs.table, row, [&] { return sha256(images_->read(name)); });
  });
  for (std::size_t i = 0; i < missing.size(); ++i) known[missing[i].first] = hashes[i];
  return known;
}

std::vector<Hash> OnnxBackbone::row_hashes(const Inputs& inputs,
                                           std::span<const Index> rows,
                                           const Exec& exec) const {
  for (const auto& [name, hash] : image_hashes(inputs, rows, exec))
    kept_->images[name] = hash;
  std::vector<Hash> hashes(rows.size());
  exec.for_each(std::ssize(rows), [&](Index i) {
    const Index row = rows[at(i)];
    ByteWriter all;
    for (std::size_t k = 0; k < bound_.size(); ++k) {
      const Bound& b = bound_[k];
      if (!b.spec.image.empty()) {
        const Column& names = typed_column(*inputs.table, b.spec.image, true);
        all.put(kept_->images.at(names.text(row)));
      } else if (!b.spec.tensor.empty()) {
        const TensorColumn& tensor = inputs.tensor(part_->inputs[k].name);
        std::vector<float> values(at(tensor.size()));
        tensor.read({&row, 1}, values.data());
        all.put_array(std::span<const Index>(tensor.shape));
        all.put_array(std::span<const float>(values));
      } else {
        for (const std::string& name : b.spec.columns) {
          const Column& column = inputs.table->column(name);
          if (column.kind == ColumnKind::number) all.put(column.numbers[at(row)]);
          if (column.kind == ColumnKind::category) all.put_text(column.text(row));
        }
      }
    }
    hashes[at(i)] = sha256(all.bytes());
  });
  return hashes;
}

// Another version of ONNX Runtime may give other bits; its file's name has the version.
Hash OnnxBackbone::cache_key(const Exec& exec) const {
  ByteWriter all;
  all.put(hash());
  if (exec.backends != nullptr && exec.backends->contains("onnxruntime"))
    for (const std::string& file : exec.backends->at("onnxruntime")) all.put_text(file);
  return sha256(all.bytes());
}

void OnnxBackbone::take_from_cache(const Table& table, std::span<const Hash> hashes,
                                   std::vector<Index>& fresh, const Exec& exec) const {
  if (cache_.empty()) return;
  if (!kept_->cache) kept_->cache.emplace(cache_, cache_key(exec), part_->cols);
  Index found = 0;
  std::vector<float> values(at(part_->cols));
  std::erase_if(fresh, [&](Index i) {
    if (!kept_->cache->read(hashes[at(i)], values.data())) return false;
    kept_->features.emplace(hashes[at(i)], values);
    return ++found > 0;
  });
  if (found > 0)
    exec.note(fmt::format(
        "features of {} rows of {} were computed before and come from {}; --feature-cache "
        "none computes them again",
        found, table.source, cache_.string()));
}

void OnnxBackbone::keep(const Table& table, std::span<const Hash> hashes,
                        const std::vector<float>& made, const Exec& exec) const {
  if (!kept_->cache) return;
  exec.note(
      kept_->cache->add(hashes, made)
          ? fmt::format("features of {} rows of {} are kept in {} for later commands; "
                        "--feature-cache none keeps none",
                        hashes.size(), table.source, cache_.string())
          : fmt::format("features of {} rows of {} could not be kept in {}", hashes.size(),
                        table.source, cache_.string()));
}

std::unique_ptr<Features> OnnxBackbone::features(const Inputs& inputs,
                                                 std::span<const Index> rows,
                                                 const Exec& exec) const {
  std::vector<Index> all;
  if (rows.empty()) {
    all.resize(at(inputs.rows()));
    std::iota(all.begin(), all.end(), Index{0});
    rows = all;
  }
  const Index count = std::ssize(rows), width = part_->cols;
  if (!kept_) return make_dense(run(inputs, rows, exec), count, width);

  const std::scoped_lock lock(kept_->mutex);
  const std::vector<Hash> hashes = row_hashes(inputs, rows, exec);
  std::vector<Index> fresh;  // places in `rows`, each content once
  std::unordered_map<Hash, Index, HashKey> place;
  for (Index i = 0; i < count; ++i)
    if (!kept_->features.contains(hashes[at(i)]) && place.emplace(hashes[at(i)], 0).second)
      fresh.push_back(i);
  take_from_cache(*inputs.table, hashes, fresh, exec);
  std::vector<Index> run_rows;
  std::vector<Hash> run_hashes;
  for (const Index i : fresh) {
    place[hashes[at(i)]] = std::ssize(run_rows);
    run_rows.push_back(rows[at(i)]);
    run_hashes.push_back(hashes[at(i)]);
  }
  const std::vector<float> made =
      fresh.empty() ? std::vector<float>{} : run(inputs, run_rows, exec);
  if (!fresh.empty()) keep(*inputs.table, run_hashes, made, exec);
  std::vector<float> values;
  values.reserve(at(count * width));
  for (const Hash& hash : hashes) {
    const auto found = kept_->features.find(hash);
    const float* from = found != kept_->features.end()
                            ? found->second.data()
                            : made.data() + place.at(hash) * width;
    values.insert(values.end(), from, from + width);
  }
  for (std::size_t i = 0; i < run_hashes.size(); ++i) {
    const auto first = made.begin() + static_cast<Index>(i) * width;
    kept_->features.emplace(run_hashes[i], std::vector<float>(first, first + width));
  }
  if (std::ssize(kept_->features) * width > Kept::kMostNumbers) kept_->features.clear();
  return make_dense(std::move(values), count, width);
}

std::vector<float> OnnxBackbone::run(const Inputs& inputs, std::span<const Index> rows,
                                     const Exec& exec) const {
  if (bound_.empty() && !part_->inputs.empty())
    bad_input(part_->source, unbound_,
              "write in task.toml: [[inputs]] with columns = [\"age\", ...]");
  const Session* session = nullptr;
  if (!part_->bytes.empty()) {
    session_->open(*part_, exec);
    session = session_.get();
  }
  const FmdImages* decoder = image_decoder(exec);
  const Index count = std::ssize(rows), size = batch_rows(), width = part_->cols;
  std::vector<float> values(at(count * width));
  std::atomic<Index> done = 0;
  exec.for_each((count + size - 1) / size, [&](Index b) {
    const Index first = b * size, here = std::min(size, count - first);
    std::vector<Index> batch(rows.begin() + first, rows.begin() + first + here);
    batch.resize(at(size), batch.back());
    if (here == size) {
      run_batch(session, decoder, inputs, batch, values.data() + first * width);
    } else {
      std::vector<float> padded(at(size * width));
      run_batch(session, decoder, inputs, batch, padded.data());
      std::copy_n(padded.begin(), here * width, values.begin() + first * width);
    }
    exec.report("features", done += here, count);
  });
  for (const float value : values)
    if (!std::isfinite(value))
      throw Error(ErrorKind::bad_value,
                  fmt::format("{}: the model gives features of {} that are not finite",
                              part_->source, inputs.table->source),
                  "look for missing numbers in the columns that it reads");
  return values;
}

}  // namespace fmd::internal
