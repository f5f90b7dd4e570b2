#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/internal.h"
#include "fmd/core/file.h"
#include "fmd/core/hash.h"

namespace fmd::internal {

struct HashKey {  // a SHA-256 is as good a hash as any of its parts
  std::size_t operator()(const Hash& hash) const;
};

// Features of rows that earlier commands ran through a backbone, in files of one folder. A
// row is known by the hash of its inputs, so names and order do not count, and a changed
// image is a new row. All files together take at most kMostBytes: the oldest go first. What
// is damaged counts as absent. Many commands may use a folder at the same time.
class FeatureCache {
 public:
  static constexpr Index kMostBytes = Index{1} << 30;

  // key: of the backbone and of all else that its features depend on.
  FeatureCache(std::filesystem::path folder, const Hash& key, Index cols);

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  [[nodiscard]] bool contains(const Hash& row) const { return place_.contains(row); }
  // False: the row is not there, or its features are damaged.
  [[nodiscard]] bool read(const Hash& row, float* into) const;
  // Keeps the features of these rows, and makes room. False: the folder cannot be written,
  // or the rows alone are too large.
  [[nodiscard]] bool add(std::span<const Hash> rows, std::span<const float> values);

 private:
  struct Place {
    std::shared_ptr<const InputFile> file;
    Index check = 0, values = 0;  // offsets
  };
  void open(const std::filesystem::path& path);
  [[nodiscard]] std::vector<std::filesystem::path> own_files() const;
  void make_room(Index bytes) const;

  std::filesystem::path folder_;
  Hash key_;
  Index cols_;
  std::unordered_map<Hash, Place, HashKey> place_;
};

}  // namespace fmd::internal
