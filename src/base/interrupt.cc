// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <unistd.h>

#include <atomic>

#include "base/log.h"
#include "base/result.h"

namespace comity {
namespace {

std::atomic<bool> g_interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // else it may not be touched in a signal handler

void on_signal(int) {
  if (g_interrupted.exchange(true)) ::_exit(static_cast<int>(Code::kInterrupted));
}

}  // namespace

// No SA_RESTART: a read that waits for a pipe must return, so that its caller can see interrupted().
void install_interrupt_handler() {
  struct sigaction action{};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() { return g_interrupted.load(std::memory_order_relaxed); }

}  // namespace comity
