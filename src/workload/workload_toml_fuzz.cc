// SPDX-License-Identifier: Apache-2.0
// Any bytes as a model, a machine and an execution: what is read is sound and reads back equal.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "workload/execution.h"
#include "workload/model.h"
#include "workload/system.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace comity::workload;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto model = parse_model(text, "fuzz")) {
    const auto again = parse_model(model_toml(*model), "again");
    COMITY_CHECK(again && *again == *model);
    COMITY_CHECK(parameters(*model).total > 0);
  }
  if (const auto system = parse_system(text, "fuzz")) {
    const auto again = parse_system(system_toml(*system), "again");
    COMITY_CHECK(again && *again == *system);
  }
  if (const auto execution = parse_execution(text, "fuzz")) {
    const auto again = parse_execution(execution_toml(*execution), "again");
    COMITY_CHECK(again && *again == *execution);
    static const Model model = *load_model("deepseek-v3");
    static const System system = *load_system("dgx-h100");
    const auto status = check_execution(*execution, model, system, "fuzz");
    COMITY_CHECK(status || !status.error().field.empty());
  }
  return 0;
}
