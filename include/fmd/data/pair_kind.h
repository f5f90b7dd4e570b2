#pragma once

#include <optional>
#include <string>

namespace fmd {

// Where the other side of a pair comes from.
enum class PairKind {
  flip,   // the same row with the attribute changed
  given,  // a row of another file with the same id
  match,  // a row of the same table that is near it
};
[[nodiscard]] std::string to_string(PairKind kind);  // "flip", ...

// What a task says about an attribute's pairs: "flip", "given:FILE", "match" or
// "match:DISTANCE".
struct PairsText {
  PairKind kind = PairKind::flip;
  std::string detail = "";  // the file or the distance; empty = none
};
// None: there is no such kind, or its detail is wrong.
[[nodiscard]] std::optional<PairsText> parse_pairs(const std::string& text);

}  // namespace fmd
