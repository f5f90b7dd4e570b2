#include "fmd/report/proxy_report.h"

#include <fmt/format.h>

#include "report/json.h"
#include "report/text.h"

namespace fmd {
namespace {

constexpr std::size_t kNamed = 3;  // columns in words; the JSON has more

}  // namespace

std::string words(const ProxyReport& proxy) {
  if (!proxy.reason.empty())
    return fmt::format("{}: not measured, {}", proxy.attribute, proxy.reason);
  std::string out = fmt::format("{} ({}): AUC {} {}", proxy.attribute, proxy.value,
                                internal::text::fixed(proxy.auc.value, 3),
                                internal::text::range(proxy.auc));
  for (std::size_t k = 0; k < std::min(kNamed, proxy.columns.size()); ++k)
    out += fmt::format("{}{} {}", k == 0 ? "; alone: " : ", ", proxy.columns[k].column,
                       internal::text::fixed(proxy.columns[k].auc.value, 3));
  return out;
}

std::string to_json(const std::vector<ProxyReport>& proxies) {
  internal::Json all = internal::Json::array();
  for (const ProxyReport& proxy : proxies) {
    internal::Json one = {
        {"attribute", proxy.attribute}, {"value", proxy.value}, {"rows", proxy.rows}};
    one["auc"] = internal::interval_json(proxy.auc, proxy.reason);
    one["columns"] = internal::Json::array();
    for (const ProxyColumn& column : proxy.columns)
      one["columns"].push_back(
          {{"column", column.column}, {"auc", internal::interval_json(column.auc)}});
    all.push_back(one);
  }
  return internal::json_lines(all);
}

}  // namespace fmd
