// SPDX-License-Identifier: Apache-2.0
// The parts of `tiresias` that stand in files of their own.
#pragma once

#include <memory>

#include "sched/policy.h"

namespace comity::sched {

// variant = gittins; see sched/gittins.cc.
[[nodiscard]] std::unique_ptr<Policy> make_gittins(const Params& params);

}  // namespace comity::sched
