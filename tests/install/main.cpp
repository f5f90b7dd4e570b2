#include <cstdio>
#include <string_view>

#include <fmd/fmd.h>

int main() {
  std::printf("fmd %s\n", fmd::version());
  return std::string_view(fmd::version()) == EXPECTED_VERSION ? 0 : 1;
}
