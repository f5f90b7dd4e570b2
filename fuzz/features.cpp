#include "fmd/formats/features_file.h"
#include "support/fuzz.h"

// A file of features from a stranger: what is accepted can be read to the end, or is
// refused where it is read.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fmd;
  const auto file = fuzz::accepted([&] {
    return FeaturesFile::parse(InputFile::in_memory({data, size}, "fuzz.features"));
  });
  if (!file) return 0;
  const FeaturesNote& note = file->note();
  fuzz::require(note.rows * std::max<Index>(note.places, 1) <= static_cast<Index>(size),
                "rows are there");
  (void)fuzz::accepted([&] { return file->labels(0, note.rows); });
  (void)fuzz::accepted([&] { return file->weights(0, note.rows).size(); });
  for (std::size_t k = 0; k < note.attributes.size(); ++k) {
    (void)fuzz::accepted([&] {
      const Attribute a = file->attribute(k, 0, note.rows);
      fuzz::require(a.code.size() == a.group.size(), "one code a row");
      return a;
    });
  }
  const auto read_all = [&](const std::unique_ptr<Features>& X) {
    Scratch scratch;
    Index rows = 0;
    for (Index b = 0; X != nullptr && b < block_count(X->rows()); ++b) {
      const FeatureBlock block = X->block(b, scratch);
      rows += block.rows;
      if (!block.sparse()) continue;
      for (const std::int32_t column : block.column)
        fuzz::require(column >= 0 && column < note.cols, "a column is one");
    }
    return rows;
  };
  (void)fuzz::accepted([&] { return read_all(file->features(0, note.rows)); });
  for (std::size_t k = 0; k < note.attributes.size(); ++k)
    (void)fuzz::accepted([&] { return read_all(file->flips(k, 0, note.rows)); });
  return 0;
}
