#include "fmd/core/hash.h"
#include "fmd/pipeline/audit_state.h"
#include "support/fuzz.h"

// An input is a state without its checksum, which nobody guesses: it is added here.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fmd;
  Bytes bytes(data, data + size);
  (void)fuzz::accepted([&] { return parse_state(bytes, "fuzz"); });
  const Hash hash = sha256(bytes);
  bytes.insert(bytes.end(), hash.begin(), hash.end());
  const auto state = fuzz::accepted([&] { return parse_state(bytes, "fuzz"); });
  if (!state) return 0;
  const auto again = std::visit([](const auto& own) { return state_bytes(own); }, *state);
  fuzz::require(std::visit([](const auto& own) { return state_bytes(own); },
                           parse_state(again, "fuzz")) == again,
                "a state that was read is written and read again");
  return 0;
}
