#include "repro/corpora.h"

#include <algorithm>
#include <cstdlib>

#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "support/close.h"
#include "support/folder.h"

namespace fmd::repro {
namespace {

using Sentences = std::vector<std::string>;

TEST(Corpora, SentencesOfPlainText) {
  const test::Folder folder;
  test::write_text(folder / "a.txt",
                   "One two three four. Too short.  Five  six seven\teight!\n"
                   "a line without an end\none two three four five six seven eight nine "
                   "ten eleven\nOne two three four.\nbad \xff bytes are here now\n");
  EXPECT_EQ(
      corpus_sentences({folder / "a.txt"}, {}),
      (Sentences{"One two three four.", "Five six seven eight!", "a line without an end"}));
  EXPECT_EQ(corpus_sentences({folder / "a.txt"}, {.least_words = 2, .most_words = 2}),
            Sentences{"Too short."});
}

TEST(Corpora, TagsAreTakenOff) {
  const test::Folder folder;
  test::write_text(folder / "a.txt", "The/at mother/nn-hl was/bedz kind/jj ./.\n");
  EXPECT_EQ(corpus_sentences({folder / "a.txt"}, {}), Sentences{"The mother was kind ."});
}

TEST(Corpora, ArchivesAreUnpacked) {
  const char* data = std::getenv("FMD_DATA");
  const auto file = std::filesystem::path(data == nullptr ? "" : data) /
                    "text_corpora/nltk_inaugural.zip";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "FMD_DATA has no text_corpora";
  const Sentences found = corpus_sentences({file}, {});
  EXPECT_GT(found.size(), 200U);
  EXPECT_NE(std::find(found.begin(), found.end(), "But let us begin."), found.end());
}

TEST(Corpora, ADamagedArchiveIsNamed) {
  const test::Folder folder;
  test::write_text(folder / "a.zip", "PK\3\4 this is no archive");
  EXPECT_ERROR(corpus_sentences({folder / "a.zip"}, {}), ErrorKind::bad_model, "a.zip");
  EXPECT_ERROR(corpus_sentences({folder / "none.txt"}, {}), ErrorKind::cannot_read,
               "none.txt");
}

}  // namespace
}  // namespace fmd::repro
