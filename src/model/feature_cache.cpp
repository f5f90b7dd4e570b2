#include "model/feature_cache.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "core/disk.h"
#include "core/index.h"
#include "fmd/core/bytes.h"
#include "fmd/core/error.h"
#include "fmd/core/output_files.h"

namespace fs = std::filesystem;

namespace fmd::internal {
namespace {

// A file: kMagic, the key, columns and rows (u64 each), the hash of each row, a check of
// each row's features, the features.
constexpr std::string_view kMagic = "fmd features 1\n\0";
constexpr std::string_view kPrefix = "features-", kSuffix = ".fmd-cache";
constexpr Index kHead = 16 + 32 + 16, kHashSize = 32, kCheckSize = 8;
constexpr std::size_t kMostFiles = 8;  // of one backbone; then they become one

std::uint64_t check_of(std::span<const float> values) {
  return hash64(
      {reinterpret_cast<const std::uint8_t*>(values.data()), values.size_bytes()});
}

// Regular files of the folder that a cache made, oldest first. Links do not count.
std::vector<std::pair<fs::file_time_type, fs::path>> cache_files(const fs::path& folder) {
  std::vector<std::pair<fs::file_time_type, fs::path>> found;
  std::error_code failed;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end;
       it.increment(failed)) {
    const std::string name = it->path().filename().string();
    std::error_code gone;
    if (name.starts_with(kPrefix) && name.ends_with(kSuffix) &&
        fs::is_regular_file(it->symlink_status(gone)))
      found.emplace_back(it->last_write_time(gone), it->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

std::size_t HashKey::operator()(const Hash& hash) const {
  std::size_t value = 0;
  std::memcpy(&value, hash.data(), sizeof(value));
  return value;
}

FeatureCache::FeatureCache(fs::path folder, const Hash& key, Index cols)
    : folder_(std::move(folder)), key_(key), cols_(cols) {
  for (const fs::path& file : own_files()) open(file);
}

std::vector<fs::path> FeatureCache::own_files() const {
  const std::string start = std::string(kPrefix) + hex(key_).substr(0, 16) + "-";
  std::vector<fs::path> own;
  for (const auto& [time, path] : cache_files(folder_))
    if (path.filename().string().starts_with(start)) own.push_back(path);
  return own;
}

void FeatureCache::open(const fs::path& path) {
  try {
    const auto file = InputFile::open(path);
    if (file->size() < kHead || file->size() > kMostBytes) return;
    const Bytes head = file->first(kHead);
    ByteReader reader(head);
    std::array<char, 16> magic{};
    Hash key{};
    reader.get_raw(magic.data(), magic.size());
    reader.get_raw(key.data(), key.size());
    const auto cols = reader.get<std::uint64_t>(), rows = reader.get<std::uint64_t>();
    const Index per_row = kHashSize + kCheckSize + Index{sizeof(float)} * cols_;
    if (std::string_view(magic.data(), magic.size()) !=
            std::string_view(kMagic.data(), magic.size()) ||
        key != key_ || cols != static_cast<std::uint64_t>(cols_) ||
        rows != static_cast<std::uint64_t>((file->size() - kHead) / per_row) ||
        (file->size() - kHead) % per_row != 0)
      return;
    const auto count = static_cast<Index>(rows);
    std::vector<Hash> hashes(rows);
    file->read(kHead,
               {reinterpret_cast<std::uint8_t*>(hashes.data()), rows * sizeof(Hash)});
    const Index checks = kHead + count * kHashSize, values = checks + count * kCheckSize;
    for (Index i = 0; i < count; ++i)
      place_.emplace(hashes[at(i)], Place{file, checks + i * kCheckSize,
                                          values + i * cols_ * Index{sizeof(float)}});
  } catch (const Error&) {  // gone, or changed while it was read: it counts as absent
  }
}

bool FeatureCache::read(const Hash& row, float* into) const {
  const auto found = place_.find(row);
  if (found == place_.end()) return false;
  const Place& place = found->second;
  std::uint64_t check = 0;
  const std::span<float> values(into, at(cols_));
  try {
    place.file->read(place.check, {reinterpret_cast<std::uint8_t*>(&check), sizeof(check)});
    place.file->read(place.values,
                     {reinterpret_cast<std::uint8_t*>(into), values.size_bytes()});
  } catch (const Error&) {
    return false;
  }
  return check == check_of(values);
}

void FeatureCache::make_room(Index bytes) const {
  std::error_code gone;
  Index total = bytes;
  const auto files = cache_files(folder_);
  for (const auto& [time, path] : files)
    total += static_cast<Index>(fs::file_size(path, gone));
  for (const auto& [time, path] : files) {
    if (total <= kMostBytes) return;
    total -= static_cast<Index>(fs::file_size(path, gone));
    disk::remove(path);
  }
}

bool FeatureCache::add(std::span<const Hash> rows, std::span<const float> values) {
  std::vector<Hash> hashes(rows.begin(), rows.end());
  std::vector<float> all(values.begin(), values.end());
  std::vector<fs::path> merged = own_files();
  if (merged.size() < kMostFiles) merged.clear();
  std::vector<float> one(at(cols_));
  if (!merged.empty())
    for (const auto& [hash, place] : place_) {
      if (!read(hash, one.data())) continue;
      hashes.push_back(hash);
      all.insert(all.end(), one.begin(), one.end());
    }
  const Index per_row = kHashSize + kCheckSize + Index{sizeof(float)} * cols_;
  const Index size = kHead + std::ssize(hashes) * per_row;
  if (size > kMostBytes) return false;
  ByteWriter bytes;
  bytes.put_raw(kMagic.data(), 16);
  bytes.put_raw(key_.data(), key_.size());
  bytes.put(static_cast<std::uint64_t>(cols_));
  bytes.put(static_cast<std::uint64_t>(hashes.size()));
  bytes.put_raw(hashes.data(), hashes.size() * sizeof(Hash));
  for (std::size_t i = 0; i < hashes.size(); ++i)
    bytes.put(check_of({all.data() + i * one.size(), one.size()}));
  bytes.put_raw(all.data(), all.size() * sizeof(float));
  try {
    if (!fs::exists(folder_)) {
      fs::create_directories(folder_);
      fs::permissions(folder_, fs::perms::owner_all);  // features are data on persons
    }
    const Hash content = sha256(
        {reinterpret_cast<const std::uint8_t*>(hashes.data()), hashes.size() * kHashSize});
    const fs::path path = folder_ / (std::string(kPrefix) + hex(key_).substr(0, 16) + "-" +
                                     hex(content).substr(0, 16) + std::string(kSuffix));
    make_room(size);
    OutputFiles files({.force = true});
    files.write(path, bytes.bytes());
    files.commit();
    for (const fs::path& old : merged)
      if (old != path) disk::remove(old);
    open(path);
  } catch (const Error&) {
    return false;
  } catch (const fs::filesystem_error&) {
    return false;
  }
  return true;
}

}  // namespace fmd::internal
