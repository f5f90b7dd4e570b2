#include "data/images/image_files.h"

#include <algorithm>
#include <string_view>

#include "core/check.h"
#include "fmd/core/safe_text.h"

namespace fs = std::filesystem;

namespace fmd::internal {
namespace {

constexpr std::size_t kTarBlock = 512;
constexpr std::size_t kLargestImage = std::size_t{256} << 20;
constexpr std::size_t kLongestPath = 4096;

[[noreturn]] void bad_tar(const std::string& source, std::size_t at,
                          const std::string& what) {
  throw Error(ErrorKind::bad_data, fmt::format("{}: byte {}: {}", source, at, what),
              "give a folder, or a plain tar file (not compressed)");
}

std::string_view tar_text(std::span<const std::uint8_t> block, std::size_t at,
                          std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(block.data()) + at, size);
  return all.substr(0, std::min(all.find('\0'), all.size()));
}

// A size as octal digits, or, where its first bit is set, as a number.
std::size_t tar_size(std::span<const std::uint8_t> block, const std::string& source,
                     std::size_t at) {
  std::size_t size = 0;
  if ((block[124] & 0x80) != 0) {
    for (std::size_t i = 128; i < 136; ++i) size = size << 8 | block[i];
    return size;
  }
  for (const char c : tar_text(block, 124, 12)) {
    if (c == ' ') continue;
    if (c < '0' || c > '7') bad_tar(source, at, "a size is not a number");
    size = size * 8 + static_cast<std::size_t>(c - '0');
  }
  return size;
}

bool tar_sum_holds(std::span<const std::uint8_t> block) {
  std::size_t sum = 0, stored = 0;
  for (std::size_t i = 0; i < kTarBlock; ++i)
    sum += i >= 148 && i < 156 ? std::size_t{' '} : block[i];
  for (const char c : tar_text(block, 148, 8))
    if (c >= '0' && c <= '7') stored = stored * 8 + static_cast<std::size_t>(c - '0');
  return sum == stored;
}

// The path of a pax header: lines "LENGTH key=value\n".
std::string pax_path(std::string_view text) {
  constexpr std::string_view kKey = " path=";
  std::size_t line = 0;
  while (line < text.size()) {
    const std::size_t end = std::min(text.find('\n', line), text.size());
    const std::string_view one = text.substr(line, end - line);
    if (const std::size_t at = one.find(kKey); at != std::string_view::npos && at < 10)
      return std::string(one.substr(at + kKey.size()));
    line = end + 1;
  }
  return "";
}

std::string without_dot(std::string name) {
  while (name.starts_with("./")) name.erase(0, 2);
  return name;
}

}  // namespace

ImageFiles::ImageFiles(const fs::path& folder_or_tar) : source_(folder_or_tar.string()) {
  std::error_code absent;
  if (fs::is_directory(folder_or_tar, absent)) {
    folder_ = folder_or_tar;
    return;
  }
  tar_ = FileView::open(folder_or_tar);
  read_tar(tar_->bytes());
}

ImageFiles::ImageFiles(std::span<const std::uint8_t> tar, const std::string& source)
    : source_(source) {
  read_tar(tar);
}

void ImageFiles::read_tar(std::span<const std::uint8_t> bytes) {
  bytes_ = bytes;
  std::string long_name;
  for (std::size_t at = 0; at < bytes.size();) {
    if (bytes.size() - at < kTarBlock) bad_tar(source_, at, "the file ends in a header");
    const auto block = bytes.subspan(at, kTarBlock);
    if (std::all_of(block.begin(), block.end(), [](std::uint8_t b) { return b == 0; }))
      break;
    if (!tar_sum_holds(block)) bad_tar(source_, at, "this is not a header of a tar file");
    const std::size_t size = tar_size(block, source_, at), start = at + kTarBlock;
    if (size > bytes.size() - start)
      bad_tar(source_, at, fmt::format("a file of {} bytes goes past the end", size));
    const char kind = static_cast<char>(block[156]);
    const std::string_view contents(
        reinterpret_cast<const char*>(bytes.data()) + start,
        kind == 'L' || kind == 'x' ? std::min(size, kLongestPath) : 0);
    if (kind == 'L') {
      long_name = contents.substr(0, contents.find('\0'));
    } else if (kind == 'x') {
      long_name = pax_path(contents);
    } else {
      std::string name(tar_text(block, 0, 100));
      if (tar_text(block, 257, 5) == "ustar" && block[262] == 0 &&
          !tar_text(block, 345, 155).empty())
        name = std::string(tar_text(block, 345, 155)) + "/" + name;
      if (!long_name.empty()) name = long_name;
      long_name.clear();
      if (kind == '0' || kind == '\0')
        entries_[without_dot(name)] = {start, size};  // a later one replaces it
    }
    at = start + (size + kTarBlock - 1) / kTarBlock * kTarBlock;
  }
}

Bytes ImageFiles::read(const std::string& name) const {
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorKind::bad_data,
                fmt::format("image \"{}\" of {}: {}", safe_text(name), source_, why),
                "names are those of files below --images");
  };
  if (folder_.empty()) {
    const auto found = entries_.find(without_dot(name));
    if (found == entries_.end()) refuse("there is no such file");
    const auto& [offset, size] = found->second;
    if (size > kLargestImage) refuse("it is larger than 256 MB");
    const auto part = bytes_.subspan(offset, size);
    return {part.begin(), part.end()};
  }
  const fs::path path(name);
  if (name.empty() || name.find('\0') != std::string::npos || path.is_absolute() ||
      std::find(path.begin(), path.end(), "..") != path.end())
    refuse("the name leads out of the folder");
  std::error_code absent;
  const fs::path file = folder_ / path;
  if (!fs::is_regular_file(file, absent)) refuse("there is no such file");
  if (fs::file_size(file, absent) > kLargestImage) refuse("it is larger than 256 MB");
  const FileView view = FileView::open(file);
  return {view.bytes().begin(), view.bytes().end()};
}

}  // namespace fmd::internal
