#include "fmd/data/table_stream.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "support/close.h"
#include "support/folder.h"

namespace fmd {
namespace {

TEST(TableStream, BlocksAreTheTable) {
  const auto path = std::filesystem::temp_directory_path() / "fmd_table_stream_test.csv";
  {
    std::ofstream file(path);
    file << "a,b\n";
    for (Index i = 0; i < 2 * kStreamRows + 10; ++i)
      file << i << ",level " << i / 50000 << "\n";
  }
  const Table whole = read_csv(path);
  TableStream stream = TableStream::open(path, {}, {});
  EXPECT_EQ(stream.names(), (std::vector<std::string>{"a", "b"}));
  for (int pass = 0; pass < 2; ++pass) {
    Table block;
    Index row = 0;
    while (stream.next(block)) {
      EXPECT_EQ(block.rows(), std::min(kStreamRows, whole.rows() - row));
      EXPECT_EQ(block.where(3), whole.where(row + 3));
      for (Index i = 0; i < block.rows(); ++i, ++row)
        for (std::size_t c = 0; c < 2; ++c)
          ASSERT_EQ(block.columns[c].text(i), whole.columns[c].text(row));
      EXPECT_EQ(stream.row(), row);
    }
    EXPECT_EQ(row, whole.rows());
    EXPECT_EQ(stream.share(), 1);
    stream.rewind();
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace fmd
