#include "fmd/version.h"

namespace fmd {

const char* version() { return kVersion; }

}  // namespace fmd
