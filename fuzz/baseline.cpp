#include "fmd/report/previous_audit.h"
#include "support/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fmd;
  const std::string_view text = fuzz::as_text({data, size});
  const auto audit = fuzz::accepted([&] { return parse_audit(text, "old.json"); });
  if (!audit) return 0;
  for (const AuditFigure& figure : audit->figures) {
    fuzz::require(figure.interval.defined(), "a figure has a value");
    (void)figure.about();
  }
  const AuditChanges same = compare_audits(*audit, *audit);
  fuzz::require(same.changes.size() == audit->figures.size(),
                "an audit has its own figures");
  fuzz::require(same.count(Direction::unclear) == static_cast<Index>(same.changes.size()),
                "an audit is no worse and no better than itself");
  fuzz::require(same.gone.empty() && same.fresh.empty(), "nothing is gone or fresh");
  return 0;
}
