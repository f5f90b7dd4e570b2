#include "fmd/pipeline/ledger.h"

#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "fmd/data/table.h"
#include "support/close.h"
#include "support/folder.h"
#include "support/parse_table.h"

namespace fmd {
namespace {

std::filesystem::path write(const test::Folder& folder, const std::string& name,
                            const std::string& text) {
  const std::filesystem::path path = folder.path() / name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

LedgerEntry entry(const std::string& set, std::uint64_t seed) {
  return {.date = "2026-01-01T00:00:00Z",
          .command = "audit",
          .set = set,
          .rows = 10,
          .seed = seed,
          .model = "m"};
}

TEST(Ledger, CountsTheLooksAtEachSetAndTheirSeeds) {
  const test::Folder folder;
  const auto path = folder.path() / "looks.ledger";
  EXPECT_EQ(add_to_ledger(path, entry("a", 7)).looks, 1);
  add_to_ledger(path, entry("b", 1));
  add_to_ledger(path, entry("a", 3));
  const LedgerCount count = add_to_ledger(path, entry("a", 7));
  EXPECT_EQ(count.looks, 3);
  EXPECT_EQ(count.seeds, (std::vector<std::uint64_t>{3, 7}));
  EXPECT_EQ(count.models, 1);
  EXPECT_EQ(read_ledger(path).size(), 4U);
  EXPECT_EQ(read_ledger(path)[1].set, "b");
}

TEST(Ledger, AChangedLineBreaksTheChainAndIsNamed) {
  const test::Folder folder;
  const auto path = folder.path() / "looks.ledger";
  for (std::uint64_t seed = 1; seed <= 4; ++seed) add_to_ledger(path, entry("a", seed));
  const std::string whole = read(path);
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < whole.size();) {
    const std::size_t end = whole.find('\n', at);
    lines.push_back(whole.substr(at, end + 1 - at));
    at = end + 1;
  }
  for (std::size_t k = 0; k < lines.size(); ++k) {
    std::string text;
    for (std::size_t j = 0; j < lines.size(); ++j) {
      std::string line = lines[j];
      if (j == k) line.replace(line.find("\"rows\":10"), 9, "\"rows\":11");
      text += line;
    }
    write(folder, "looks.ledger", text);
    EXPECT_ERROR(add_to_ledger(path, entry("a", 9)), ErrorKind::wrong_checksum,
                 "line " + std::to_string(k + 1));
    EXPECT_EQ(read(path), text);  // nothing was added
  }
  write(folder, "looks.ledger", lines[0] + lines[2] + lines[3]);
  EXPECT_ERROR((void)read_ledger(path), ErrorKind::wrong_checksum, "line 2");
  write(folder, "looks.ledger", lines[1] + lines[2]);
  EXPECT_ERROR((void)read_ledger(path), ErrorKind::wrong_checksum, "line 1");
  write(folder, "looks.ledger", whole.substr(0, whole.size() - 5));
  EXPECT_ERROR((void)read_ledger(path), ErrorKind::wrong_checksum, "line 4");
  write(folder, "looks.ledger", "a,b\n1,2\n");
  EXPECT_ERROR((void)read_ledger(path), ErrorKind::bad_data, "this is no line of a ledger");
  EXPECT_EQ(read(path), "a,b\n1,2\n");
}

TEST(Ledger, WritersWaitForEachOther) {
  const test::Folder folder;
  const auto path = folder.path() / "looks.ledger";
  std::vector<std::thread> writers;
  for (std::uint64_t w = 0; w < 8; ++w)
    writers.emplace_back([&, w] {
      for (std::uint64_t k = 0; k < 10; ++k) add_to_ledger(path, entry("a", 100 * w + k));
    });
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(read_ledger(path).size(), 80U);
  EXPECT_EQ(add_to_ledger(path, entry("a", 0)).seeds.size(), 80U);
}

TEST(RowSet, IsTheSameForAFileThatWasSavedAgain) {
  const test::Folder folder;
  const auto set = [&](const std::string& name, const std::string& text) {
    return row_set(DataSource::file(write(folder, name, text).string()), {}).name;
  };
  const std::string first = set("a.csv", "age,sex\n30,F\n41,M\n30,F\n");
  EXPECT_EQ(set("b.csv", "sex,age\r\nM,41.0\r\nF,30.0\r\nF,30.0\r\n"), first);
  EXPECT_NE(set("c.csv", "age,sex\n30,F\n41,M\n"), first);
  EXPECT_NE(set("d.csv", "age,sex\n30,F\n41,M\n30,M\n"), first);
}

}  // namespace
}  // namespace fmd
