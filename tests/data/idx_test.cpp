#include "fmd/data/idx.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include "fmd/core/error.h"
#include "support/close.h"
#include "support/folder.h"

namespace fmd {
namespace {

// Two images of 3 x 2, written by hand.
const Bytes kImages = {0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0,
                       0, 2, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 1, 255};

std::string packed(const Bytes& bytes) {
  const test::Folder folder;
  const std::string path = (folder / "x.gz").string();
  const gzFile file = gzopen(path.c_str(), "wb9");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
  return test::read_text(path);
}

TEST(Idx, ImagesAreReadInTheOrderOfTheFile) {
  const IdxArray array = parse_idx(kImages, "images");
  EXPECT_EQ(array.shape, (std::vector<Index>{2, 3, 2}));
  EXPECT_EQ(array.values, Bytes(kImages.begin() + 16, kImages.end()));
  EXPECT_EQ(array.count(), 2);
  EXPECT_EQ(array.cell(), 6);
}

TEST(Idx, PackedOrPlainIsToldByContent) {
  const test::Folder folder;
  const std::string text = packed(kImages);
  test::write_text(folder / "images", text);
  EXPECT_EQ(read_idx(folder / "images").values, parse_idx(kImages, "").values);
}

TEST(Idx, DamageBehindAPackedFilesImagesIsFound) {
  std::string text = packed(kImages);
  text[text.size() - 6] ^= 1;  // the checksum of what was packed
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  EXPECT_ERROR(parse_idx({bytes, text.size()}, "x.gz"), ErrorKind::bad_data,
               "x.gz: a damaged gzip file (incorrect data check), after 28 unpacked bytes");
}

TEST(Idx, EveryShorterFileIsRefused) {
  for (std::size_t size = 0; size < kImages.size(); ++size)
    EXPECT_THROW((void)parse_idx({kImages.data(), size}, "cut"), Error) << size;
}

TEST(Idx, AnAbsentFileIsNamed) {
  EXPECT_ERROR(read_idx("no-such-file.idx"), ErrorKind::cannot_read, "no-such-file.idx");
}

}  // namespace
}  // namespace fmd
