#include "fmd/pipeline/ledger.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "core/disk.h"
#include "core/json.h"
#include "data/json_reader.h"
#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/core/hash.h"
#include "fmd/data/table.h"
#include "report/json.h"

namespace fmd {
namespace {

constexpr std::string_view kStart =
    "0000000000000000000000000000000000000000000000000000000000000000";

std::string text_hash(std::string_view text) {
  return hex(sha256({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}));
}

constexpr std::chrono::milliseconds kPause{20}, kPatience{10'000};

struct Chain {
  std::vector<LedgerEntry> entries;
  std::string last = std::string(kStart);  // sha256 of the last line
};

[[noreturn]] void broken(const std::filesystem::path& path, std::size_t line,
                         const std::string& what) {
  throw Error(ErrorKind::wrong_checksum,
              fmt::format("{}, line {}: {}", path.string(), line, what),
              "a ledger is only ever added to: take it from a backup");
}

Json line_json(const LedgerEntry& entry, std::size_t number, const std::string& previous) {
  return {{"line", number},       {"date", entry.date},  {"command", entry.command},
          {"set", entry.set},     {"rows", entry.rows},  {"seed", entry.seed},
          {"model", entry.model}, {"previous", previous}};
}

// The text of a line: what was said, and the sha256 of that.
std::string line_text(const LedgerEntry& entry, std::size_t number,
                      const std::string& previous) {
  Json json = line_json(entry, number, previous);
  json["sha256"] = text_hash(json.dump());
  return json.dump();
}

void add_line(const std::filesystem::path& path, std::string_view text, Chain& chain) {
  const std::size_t number = chain.entries.size() + 1;
  const std::string where = fmt::format("{}, line {}", path.string(), number);
  const nlohmann::json json = parse_json<nlohmann::json>(
      text, where, ErrorKind::bad_data, "this is no line of a ledger",
      "name a file that --ledger made, or one that does not exist yet");
  const JsonReader in(json, where);
  LedgerEntry entry{.date = in.text("date"),
                    .command = in.text("command"),
                    .set = in.text("set"),
                    .rows = static_cast<Index>(in.number("rows")),
                    .seed = 0,
                    .model = in.text("model")};
  if (!json.contains("seed") || !json["seed"].is_number_unsigned())
    in.fail("\"seed\" must be a whole number >= 0");
  entry.seed = json["seed"].get<std::uint64_t>();
  if (in.text("previous") != chain.last)
    broken(path, number, "the line before it was changed, removed or added");
  if (text != line_text(entry, number, chain.last))
    broken(path, number, "it was changed after it was written");
  chain.entries.push_back(std::move(entry));
  chain.last = text_hash(text);
}

Chain parse_ledger(const std::filesystem::path& path, std::string_view text) {
  Chain chain;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos)
      broken(path, chain.entries.size() + 1, "it has no end");
    add_line(path, text.substr(0, end), chain);
    text.remove_prefix(end + 1);
  }
  return chain;
}

LedgerCount count_looks(const Chain& chain, const std::string& set) {
  LedgerCount count;
  count.set = set;
  count.last = chain.last;
  std::set<std::uint64_t> seeds;
  std::set<std::string> models;
  for (const LedgerEntry& entry : chain.entries) {
    if (entry.set != set) continue;
    ++count.looks;
    seeds.insert(entry.seed);
    models.insert(entry.model);
  }
  count.seeds.assign(seeds.begin(), seeds.end());
  count.models = std::ssize(models);
  return count;
}

disk::File open_locked(const std::filesystem::path& path) {
  disk::File file = disk::create(path);
  if (!file.is_open()) file = disk::open_existing(path);
  if (!file.is_open() || !disk::is_regular(file))
    throw Error(ErrorKind::cannot_write,
                fmt::format("{}: the ledger cannot be opened", path.string()),
                "name a file in a folder that can be written");
  disk::require_writable(path);
  // Another look holds it for a moment.
  for (int tries = 0; tries * kPause < kPatience; ++tries) {
    if (disk::lock(file, false)) return file;
    std::this_thread::sleep_for(kPause);
  }
  throw Error(ErrorKind::cannot_write,
              fmt::format("{}: the ledger has been locked for 10 seconds", path.string()),
              "another program holds it: end that program and run again");
}

// Adds the line whole, or not at all: a part of a line would be damage.
void write_line(const disk::File& file, const std::filesystem::path& path, Index size,
                const std::string& text) {
  try {
    disk::write_at(file, path, size,
                   {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
    disk::sync(file, path);
  } catch (...) {
    try {
      disk::shorten(file, path, size);
    } catch (const Error&) {  // the reason of the first failure is told
    }
    throw;
  }
}

}  // namespace

std::string set_name(std::span<const std::uint64_t> sorted_hashes) {
  Sha256 hash;
  for (const std::uint64_t row : sorted_hashes) {
    std::array<std::uint8_t, 8> bytes{};
    for (std::size_t k = 0; k < bytes.size(); ++k)
      bytes[k] = static_cast<std::uint8_t>(row >> (8 * k));
    hash.add(bytes);
  }
  return hex(hash.finish());
}

RowSet row_set(const DataSource& data, const Exec& exec) {
  TableStream stream = data.open({}, exec);
  std::vector<std::uint64_t> rows;
  Table block;
  while (stream.next(block)) {
    const std::vector<std::uint64_t> more = row_hashes(block, stream.names());
    rows.insert(rows.end(), more.begin(), more.end());
  }
  std::sort(rows.begin(), rows.end());
  return {set_name(rows), std::ssize(rows)};
}

LedgerCount add_to_ledger(const std::filesystem::path& path, const LedgerEntry& entry) {
  const disk::File file = open_locked(path);
  const FileView view = FileView::open(path);
  Chain chain = parse_ledger(path, view.text());
  const std::string line = line_text(entry, chain.entries.size() + 1, chain.last);
  write_line(file, path, static_cast<Index>(view.text().size()), line + "\n");
  chain.entries.push_back(entry);
  chain.last = text_hash(line);
  return count_looks(chain, entry.set);
}

std::vector<LedgerEntry> read_ledger(const std::filesystem::path& path) {
  return parse_ledger(path, FileView::open(path).text()).entries;
}

}  // namespace fmd
