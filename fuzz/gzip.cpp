#include "data/gzip.h"

#include <algorithm>
#include <stdexcept>

#include <zlib.h>

#include "fmd/data/csv.h"
#include "support/fuzz.h"

namespace fmd::fuzz {
namespace {

constexpr Index kMost = Index{1} << 20;  // bytes, so that one input takes little time

std::string gzip(std::string_view text) {
  z_stream stream = {};
  if (deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("zlib");
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  require(deflate(&stream, Z_FINISH) == Z_STREAM_END, "zlib packs into its bound");
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string unpack(std::string_view text) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  return gunzip(InputFile::in_memory({bytes, text.size()}, "fuzz.csv.gz"), kMost);
}

}  // namespace
}  // namespace fmd::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fmd;
  const std::string_view text = fuzz::as_text({data, size});
  if (is_gzip({data, size})) {
    const auto unpacked = fuzz::accepted([&] { return fuzz::unpack(text); });
    if (!unpacked) return 0;
    fuzz::require(std::ssize(*unpacked) <= fuzz::kMost, "the limit is kept");
    (void)fuzz::accepted([&] { return parse_csv(*unpacked, "fuzz.csv.gz"); });
    return 0;
  }
  // Anything can be packed, in one or two members, and comes back.
  const std::size_t cut = size == 0 ? 0 : data[0] % size;
  const std::string packed = fuzz::gzip(text.substr(0, cut)) + fuzz::gzip(text.substr(cut));
  fuzz::require(fuzz::unpack(packed) == text, "two members give the whole text");
  return 0;
}
