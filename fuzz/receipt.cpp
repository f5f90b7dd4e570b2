#include "pipeline/receipt.h"

#include "support/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fmd;
  const std::string_view text = fuzz::as_text({data, size});
  const auto receipt =
      fuzz::accepted([&] { return parse_receipt(text, "fuzz.receipt.json"); });
  if (!receipt) return 0;
  (void)fuzz::accepted([&] { return receipt->data(); });
  const auto options = receipt->json.find("options");
  if (options == receipt->json.end()) return 0;
  const auto parsed =
      fuzz::accepted([&] { return parse_options(options->dump(), "fuzz"); });
  if (!parsed) return 0;
  const std::string again = options_json(parsed->options, parsed->seed);
  fuzz::require(options_json(parse_options(again, "again").options, parsed->seed) == again,
                "options that were written and read are the same");
  return 0;
}
