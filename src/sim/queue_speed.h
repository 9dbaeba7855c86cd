// SPDX-License-Identifier: Apache-2.0
// The speed of the event queue in the hold model: with `pending` events waiting, pop the earliest and push one at its
// time plus a random length, over and over. It is the load that a simulation puts on its queue.
#pragma once

#include <cstddef>

namespace comity::sim {

// Pairs of pop and push a second of wall time, after `pending` pushes that are not timed. Checks that popped times
// never go backwards and that as many events leave as entered. `pending` and `operations` must be positive.
[[nodiscard]] double measure_event_queue(std::size_t pending, std::size_t operations);

}  // namespace comity::sim
