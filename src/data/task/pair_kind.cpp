#include "fmd/data/pair_kind.h"

#include <algorithm>

#include "core/names.h"

namespace fmd {
namespace {

constexpr Name<PairKind> kPairKinds[] = {
    {PairKind::flip, "flip"}, {PairKind::given, "given"}, {PairKind::match, "match"}};

constexpr std::string_view kDistances[] = {"overlap", "mahalanobis", "cosine"};

bool fits(PairKind kind, bool colon, const std::string& detail) {
  switch (kind) {
    case PairKind::flip:
      return !colon;
    case PairKind::given:
      return !detail.empty();
    case PairKind::match:
      return !colon || std::find(std::begin(kDistances), std::end(kDistances), detail) !=
                           std::end(kDistances);
  }
  return false;
}

}  // namespace

std::string to_string(PairKind kind) { return name_of(kPairKinds, "pairs", kind); }

std::optional<PairsText> parse_pairs(const std::string& text) {
  if (text == "images") return PairsText{PairKind::given, "", GivenBy::images};
  constexpr std::string_view kColumn = "column:";
  if (text.starts_with(kColumn) && text.size() > kColumn.size())
    return PairsText{PairKind::given, text.substr(kColumn.size()), GivenBy::column};
  const std::size_t colon = text.find(':');
  const auto kind = find_name(kPairKinds, text.substr(0, colon));
  const std::string detail = colon == std::string::npos ? "" : text.substr(colon + 1);
  if (!kind || !fits(*kind, colon != std::string::npos, detail)) return std::nullopt;
  return PairsText{*kind, detail};
}

}  // namespace fmd
