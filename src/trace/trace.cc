// SPDX-License-Identifier: Apache-2.0
#include "trace/trace.h"

namespace comity::trace {

double Trace::gpu_hours() const {
  // Whole jobs in integers where they fit, so that the sum does not depend on the order of the rows.
  __extension__ using Wide = __int128;
  Wide sum = 0;
  for (const Row& row : rows) sum += static_cast<Wide>(row.request.shape.total()) * row.duration;
  return static_cast<double>(sum) / static_cast<double>(kHour);
}

}  // namespace comity::trace
