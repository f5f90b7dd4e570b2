#pragma once

#include <c10/util/Exception.h>
#include <cstdio>
#include <string>

namespace fmd::torch_plugin {

// The last line that says something: the library's messages begin with where it happened.
[[nodiscard]] inline std::string last_words(const std::string& text) {
  std::size_t end = text.find_last_not_of(" \n");
  if (end == std::string::npos) return "PyTorch failed";
  const std::size_t begin = text.rfind('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1,
                     end - (begin == std::string::npos ? std::size_t(-1) : begin));
}

// Runs `work`; an exception becomes a message.
template <typename Result, typename Work>
Result guarded(char* message, std::size_t room, Result failed, Work&& work) {
  const auto tell = [&](const std::string& text) {
    if (room > 0) std::snprintf(message, room, "%s", text.c_str());
    return failed;
  };
  try {
    return work();
  } catch (const c10::Error& error) {
    return tell(last_words(error.what_without_backtrace()));
  } catch (const std::exception& error) {
    return tell(last_words(error.what()));
  } catch (...) {
    return tell("PyTorch failed");
  }
}

}  // namespace fmd::torch_plugin
