#include "report/markup.h"

#include "fmd/core/safe_text.h"

namespace fmd::internal {

std::string xml_text(const std::string& text) {
  std::string out;
  for (const char c : safe_text(text)) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

}  // namespace fmd::internal
