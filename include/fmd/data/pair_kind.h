#pragma once

#include <optional>
#include <string>

namespace fmd {

// Where the other side of a pair comes from.
enum class PairKind {
  flip,   // the same row with the attribute changed
  given,  // given: a row of another file with the same id, or another image of the row
  match,  // a row of the same table that is near it
};
[[nodiscard]] std::string to_string(PairKind kind);  // "flip", ...

// Where a given other side comes from.
enum class GivenBy {
  file,    // given:FILE, joined by id
  column,  // column:NAME, the column with the other image's name
  images,  // images: the same name below another folder
};

// What a task says about an attribute's pairs: "flip", "given:FILE", "column:NAME",
// "images", "match" or "match:DISTANCE".
struct PairsText {
  PairKind kind = PairKind::flip;
  std::string detail = "";  // the file, the column or the distance; empty = none
  GivenBy by = GivenBy::file;
};
// None: there is no such kind, or its detail is wrong.
[[nodiscard]] std::optional<PairsText> parse_pairs(const std::string& text);

}  // namespace fmd
