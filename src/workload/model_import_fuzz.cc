// SPDX-License-Identifier: Apache-2.0
// Any bytes as a model of somebody else's: a sound model that reads back from our TOML, or an error that says
// something.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "workload/model_import.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace comity::workload;
  const auto model = import_model(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz.json");
  if (!model) {
    COMITY_CHECK(!model.error().message.empty());
    return 0;
  }
  COMITY_CHECK(check_model(*model, "fuzz"));
  COMITY_CHECK(std::isfinite(parameters(*model).total) && parameters(*model).active <= parameters(*model).total);
  COMITY_CHECK(std::isfinite(model_flops(*model, 1, 0, true)));
  const auto again = parse_model(model_toml(*model), "fuzz.toml");
  COMITY_CHECK(again && *again == *model);
  return 0;
}
