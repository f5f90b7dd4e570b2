#include <optional>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>
#include <zlib.h>

#include "data/csv/csv_rows.h"
#include "data/csv/read_all.h"
#include "fmd/core/error.h"
#include "support/tables.h"

namespace fmd {
namespace {

// A table, or the words of the error.
struct Outcome {
  std::optional<Table> table;
  std::string error;
};

template <typename Read>
Outcome outcome(const Read& read) {
  try {
    return {read(), ""};
  } catch (const Error& error) {
    return {std::nullopt, std::string(id(error.kind())) + ": " + error.what()};
  }
}

std::string difference(const Outcome& a, const Outcome& b) {
  if (a.error != b.error) return "error \"" + a.error + "\" and \"" + b.error + "\"";
  return a.table ? test::difference(*a.table, *b.table) : "";
}

Table read_in_pieces(std::unique_ptr<TextFeed> feed, const CsvOptions& options,
                     const Exec& exec, std::size_t chunk) {
  CsvReader reader(std::move(feed), "x.csv", options, exec, chunk);
  return read_all(reader, exec);
}

Table read_in_blocks(std::unique_ptr<TextFeed> feed, const CsvOptions& options,
                     const Exec& exec, std::size_t chunk, Index rows) {
  CsvRows source(std::move(feed), "x.csv", options, exec, chunk);
  Table table;
  Table block;
  while (source.next(block, rows)) test::append_block(table, block);
  Table again;
  source.rewind();
  while (source.next(block, rows)) test::append_block(again, block);
  EXPECT_EQ(test::difference(table, again), "");
  return table;
}

std::string gzip(const std::string& text) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(text.size() + 1000, 0);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

// Everything that a text can be read by gives the same as one piece and one thread.
std::string disagreement(const std::string& text, const CsvOptions& options,
                         std::size_t chunk, Index rows) {
  static ThreadPool pool(3);
  const Exec threads{.pool = &pool};
  const Outcome whole = outcome(
      [&] { return read_in_pieces(make_feed(text), options, {}, text.size() + 1); });
  const std::string packed = gzip(text);
  const auto gzip_feed = [&] {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(packed.data());
    return make_feed(InputFile::in_memory({bytes, packed.size()}, "x.csv"), 3 * chunk);
  };
  const std::pair<const char*, Outcome> others[] = {
      {"pieces",
       outcome([&] { return read_in_pieces(make_feed(text), options, threads, chunk); })},
      {"gzip",
       outcome([&] { return read_in_pieces(gzip_feed(), options, threads, chunk); })},
      {"stream", outcome([&] {
         return read_in_blocks(make_feed(text), options, threads, chunk, rows);
       })},
      {"gzip stream",
       outcome([&] { return read_in_blocks(gzip_feed(), options, {}, chunk, rows); })}};
  for (const auto& [name, other] : others) {
    const std::string found = difference(whole, other);
    if (!found.empty()) return std::string(name) + ": " + found;
  }
  return "";
}

// Cells that are likely to go wrong, in rows that mostly fit.
rc::Gen<std::string> any_text() {
  const auto cell = rc::gen::weightedElement<std::string>({{12, "1"},
                                                           {6, "-2.50"},
                                                           {6, "a"},
                                                           {4, "level"},
                                                           {3, ""},
                                                           {3, "?"},
                                                           {3, " 7 "},
                                                           {3, "\"x,y\""},
                                                           {3, "\"1\n2\""},
                                                           {2, " \"a\"\"b\" "},
                                                           {2, "\"\r\n\""},
                                                           {2, "\"\n,,\n1,1,1\n\""},
                                                           {2, "5\" pipe"},
                                                           {1, "\xc3\xa9"},
                                                           {1, "123456789012"}});
  const auto end = rc::gen::weightedElement<std::string>(
      {{20, "\n"}, {6, "\r\n"}, {3, "\n\n"}, {2, "\n#,\"x\n"}, {1, "\n \t\r\n"}});
  return rc::gen::exec([=] {
    const bool broken = *rc::gen::inRange(0, 4) == 0;
    const int rows = *rc::gen::inRange(0, 40);
    std::string text = "a,b,c" + *end;
    for (int i = 0; i < rows; ++i) {
      for (int c = 0; c < 3; ++c) text += (c > 0 ? "," : "") + *cell;
      text += *end;
    }
    if (broken) {
      const std::string bad = *rc::gen::element<std::string>(
          "\"", "\r", ",", "\xff", std::string(1, '\0'), "\"x\"y", "#", "\n");
      text.insert(*rc::gen::inRange<std::size_t>(0, text.size() + 1), bad);
    }
    return text;
  });
}

RC_GTEST_PROP(CsvPieces, AnySizeOfPiecesGivesTheSameTableOrError, ()) {
  CsvOptions options;
  if (*rc::gen::arbitrary<bool>()) options.comment = "#";
  if (*rc::gen::arbitrary<bool>()) options.types["b"] = ColumnKind::number;
  if (*rc::gen::arbitrary<bool>()) options.types["c"] = ColumnKind::category;
  if (*rc::gen::arbitrary<bool>()) options.keep = {"c", "a"};
  const std::string text = *any_text();
  const auto chunk = *rc::gen::inRange<std::size_t>(1, 60);
  RC_ASSERT(disagreement(text, options, chunk, *rc::gen::inRange<Index>(1, 9)) == "");
}

TEST(CsvPieces, ManyPiecesOfALongTable) {
  std::string text = "id,x,city,note\n";
  for (int i = 0; i < 20000; ++i) {
    text += std::to_string(i) + "," + std::to_string(i * 0.25 - 100) + ",city " +
            std::to_string(i / 700) + ",\"line " + std::to_string(i) + "\nnext, line\"\n";
  }
  EXPECT_EQ(disagreement(text, {}, 5000, 4096), "");
  EXPECT_EQ(disagreement(text + "1,2,3\n", {}, 5000, 4096), "");
}

TEST(CsvPieces, ALateTextTurnsAColumnOfNumbers) {
  std::string text = "a,b\n";
  for (int i = 0; i < 30000; ++i) text += "007," + std::to_string(i) + "\n";
  text += "x,1\n";
  EXPECT_EQ(disagreement(text, {}, 4096, 1000), "");
  const Table table = parse_csv(text, "x.csv");
  EXPECT_EQ(table.columns[0].levels, (std::vector<std::string>{"007", "x"}));
  EXPECT_EQ(table.columns[1].kind, ColumnKind::number);
}

TEST(CsvPieces, LinesAreKeptWhereTheyDoNotFollowEachOther) {
  const Table table = parse_csv("a\n1\n\n2\n\"3\"\n\n\n4\n", "x.csv");
  EXPECT_EQ(table.line, (Lines{2, 4, 5, 8}));
  EXPECT_EQ(table.where(3), "x.csv, line 8");
}

}  // namespace
}  // namespace fmd
