// SPDX-License-Identifier: Apache-2.0
// What can happen to a cluster. The state changes by events alone, whoever makes them: the simulated clock, a live
// server, a test. An event carries all that is needed to apply it again.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "base/units.h"
#include "cluster/pool.h"
#include "profile/job_request.h"

namespace comity::cluster {

enum class EventKind : std::uint8_t {
  kSubmit,       // job, request, value = the estimate that policies see (ns)
  kStart,        // job, allocation, speed; overtook = the head that it passed, if any
  kEnd,          // job: its work is done
  kStop,         // job: ended by a rule before its work was done (time limit, peak rule)
  kPreempt,      // job: back to waiting with its progress; value = overhead added to what it must still run (ns)
  kRequeue,      // job: back to waiting because its node failed; progress is lost, the place in the queue is kept
  kCoLocate,     // job starts on the very GPUs that `partner` holds alone; their speeds from now on
  kSpeed,        // job: its speed from now on
  kMigrate,      // job moves to `allocation`, which may use what it holds now; speed; value = overhead as in kPreempt
  kCancel,       // job
  kHold,         // job
  kRelease,      // job
  kClock,        // what waits is looked at again as of now: see State::next_change()
  kNodeDown,     // node
  kNodeUp,       // node
  kUserLimit,    // value = most GPUs that `name` (a user) may hold at once, -1 = none
  kTenantLimit,  // value, name = tenant
  kResize,       // as kMigrate, with `gpus` GPUs at `speed` from now on
};

struct Event {
  EventKind kind = EventKind::kSubmit;
  Time at = 0;
  JobId job;
  NodeId node;
  JobId overtook;
  JobId partner;
  double speed = 1;  // of `job`: progress a second, > 0; 1 = alone on its GPUs
  double partner_speed = 1;
  double alone = 1;        // kCoLocate: speed of `job` once the partner has left
  std::uint32_t gpus = 0;  // kStart, kResize: how many it holds from now on; 0 = as many as it asked for
  Time value = 0;
  std::uint32_t name = profile::kNoName;
  const profile::JobRequest* request = nullptr;
  const Allocation* allocation = nullptr;
};

// Why a waiting job is not eligible. Bits: a job may have several reasons.
enum Block : std::uint8_t {
  kHeld = 1,
  kUserLimit = 2,
  kTenantLimit = 4,
};

enum class JobStatus : std::uint8_t { kUnknown, kWaiting, kRunning, kEnded };

}  // namespace comity::cluster
