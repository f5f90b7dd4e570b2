#include "pipeline/receipt.h"

#include "support/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fmd;
  const std::string_view text = fuzz::as_text({data, size});
  (void)fuzz::accepted([&] { return parse_receipt(text, "fuzz.receipt.json"); });
  return 0;
}
