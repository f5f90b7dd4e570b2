#include "curvature/factor_cache.h"

#include <vector>

#include "core/check.h"
#include "fmd/core/bytes.h"
#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/core/hash.h"
#include "fmd/core/output_files.h"

namespace fmd::internal {
namespace {

constexpr const char* kLayout = "fmd factor 1";

template <typename T>
void put_span(ByteWriter& out, std::span<const T> values) {
  out.put_array(values);
}

Hash block_hash(const Rows& rows, Index b) {
  Scratch scratch;
  const FeatureBlock block = rows.block(b, scratch);
  ByteWriter out;
  out.put(block.rows);
  out.put(block.cols);
  if (block.sparse()) {
    const auto first = static_cast<std::size_t>(block.start.front());
    const auto count = static_cast<std::size_t>(block.start.back()) - first;
    for (const Index start : block.start) out.put(start - block.start.front());
    put_span(out, block.column.subspan(first, count));
    if (!block.value.empty()) put_span(out, block.value.subspan(first, count));
  } else {
    put_span(out,
             std::span(block.dense, static_cast<std::size_t>(block.rows * block.cols)));
  }
  if (block.offset != nullptr)
    put_span(out,
             std::span(block.offset, static_cast<std::size_t>(block.rows * block.outputs)));
  for (Index i = 0; i < block.rows && !rows.weight.empty(); ++i)
    out.put(rows.weight_of(b * kBlockRows + i));
  return sha256(out.bytes());
}

std::filesystem::path file_of(const std::filesystem::path& folder, const Hash& key) {
  return folder / (hex(key) + ".factor");
}

// Lower triangles only: the rest of H is its mirror, the rest of L is never read.
void put_lower(ByteWriter& out, const Matrix& A) {
  out.put(static_cast<Index>(A.rows()));
  for (Index i = 0; i < A.rows(); ++i)
    out.put_raw(A.row(i).data(), static_cast<std::size_t>(i + 1) * sizeof(double));
}

Matrix get_lower(ByteReader& in) {
  const auto n = in.get<Index>();
  const double bytes = static_cast<double>(n) * static_cast<double>(n) * 4;
  if (n < 0 || bytes > static_cast<double>(in.left()))
    throw Error(ErrorKind::bad_model, "factor: its size does not fit the file");
  Matrix A = Matrix::Zero(n, n);
  for (Index i = 0; i < n; ++i)
    in.get_raw(A.row(i).data(), static_cast<std::size_t>(i + 1) * sizeof(double));
  A.triangularView<Eigen::StrictlyUpper>() = A.transpose();
  return A;
}

Factor parse(std::span<const std::uint8_t> bytes, const Hash& key) {
  constexpr std::size_t kHash = sizeof(Hash);
  if (bytes.size() < kHash) throw Error(ErrorKind::bad_model, "factor: too short");
  const auto body = bytes.first(bytes.size() - kHash);
  ByteReader end(bytes.last(kHash)), in(body, "factor");
  if (end.get<Hash>() != sha256(body) || in.get_text() != kLayout || in.get<Hash>() != key)
    throw Error(ErrorKind::bad_model, "factor: damaged, or of another layout");
  Factor factor;
  factor.damping = in.get<double>();
  factor.rcond = in.get<double>();
  factor.H = get_lower(in);
  factor.L = get_lower(in);
  return factor;
}

}  // namespace

Hash factor_key(const Rows& rows, const Vector& theta, const std::string& rest,
                const Exec& exec) {
  std::vector<Hash> blocks(static_cast<std::size_t>(block_count(rows.size())));
  exec.for_each(static_cast<Index>(blocks.size()), [&](Index b) {
    blocks[static_cast<std::size_t>(b)] = block_hash(rows, b);
  });
  ByteWriter out;
  for (const Hash& hash : blocks) out.put(hash);
  out.put_array(
      std::span<const double>(theta.data(), static_cast<std::size_t>(theta.size())));
  out.put_text(rest);
  return sha256(out.bytes());
}

std::optional<Factor> find_factor(const std::filesystem::path& folder, const Hash& key) {
  const std::filesystem::path path = file_of(folder, key);
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  try {
    return parse(FileView::open(path).bytes(), key);
  } catch (const Error&) {
    return std::nullopt;
  }
}

void keep_factor(const std::filesystem::path& folder, const Hash& key,
                 const Factor& factor) {
  ByteWriter out;
  out.put_text(kLayout);
  out.put(key);
  out.put(factor.damping);
  out.put(factor.rcond);
  put_lower(out, factor.H);
  put_lower(out, factor.L);
  out.put(sha256(out.bytes()));
  try {
    std::filesystem::create_directories(folder);
    OutputFiles files({.force = true});
    files.write(file_of(folder, key), out.bytes());
    files.commit();
  } catch (const Error&) {
  } catch (const std::filesystem::filesystem_error&) {
  }
}

}  // namespace fmd::internal
