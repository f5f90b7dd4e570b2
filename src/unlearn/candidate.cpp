#include "fmd/unlearn/candidate.h"

namespace fmd {

std::string to_string(Budget budget) {
  switch (budget) {
    case Budget::none:
      return "none";
    case Budget::proven:
      return "proven";
    case Budget::not_proven:
      return "not proven";
    case Budget::exceeded:
      return "exceeded";
  }
  return "";
}

}  // namespace fmd
