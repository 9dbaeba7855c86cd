// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include <unistd.h>

#include <cstdio>

namespace comity {

// _exit, not exit: the state is wrong, so no destructor may run and nothing half-made may be flushed to stdout.
void check_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "comity: internal error: check failed: %s at %s:%d\n", expression, file, line);
  std::fflush(stderr);
  ::_exit(70);
}

}  // namespace comity
