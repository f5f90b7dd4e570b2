#pragma once

#include <string>
#include <string_view>

namespace fmd {

// What a receipt says of the two models, as hex texts of their SHA-256.
struct ReceiptHashes {
  std::string before, after;
};

// Throws Error(bad_model) that names the source when the text is no receipt.
[[nodiscard]] ReceiptHashes parse_receipt(std::string_view text, const std::string& source);

}  // namespace fmd
