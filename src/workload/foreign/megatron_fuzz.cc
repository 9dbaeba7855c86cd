// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "workload/estimate.h"
#include "workload/foreign/megatron.h"

// A command line that is read is one that can be checked, and what passes has a time.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace comity::workload;
  const auto run = parse_megatron(std::string_view(reinterpret_cast<const char*>(data), size), 0, "fuzz");
  if (!run) {
    COMITY_CHECK(!run.error().message.empty());
    return 0;
  }
  static const System system = *load_system("dgx-a100");
  if (!check_model(run->model, "fuzz") || !check_execution(run->execution, run->model, system, "fuzz")) return 0;
  if (run->execution.pp * run->execution.virtual_stages > 4096) return 0;
  COMITY_CHECK(estimate(run->model, run->execution, system, CostModel::kAlphaBeta).iteration_s > 0);
  return 0;
}
