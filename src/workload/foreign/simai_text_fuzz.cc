// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "workload/foreign/simai.h"

namespace {

comity::Result<comity::workload::SimaiWorkload> read(std::string_view bytes) {
  auto source = comity::memory_source(bytes);
  if (!source) return comity::fail(source.error());
  comity::LineReader reader(std::move(*source), "fuzz");
  return comity::workload::read_simai_from(reader);
}

}  // namespace

// Any text is a workload that reads back as it was written and has a price, or an Error.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace comity::workload;  // NOLINT(google-build-using-namespace)
  const auto got = read({reinterpret_cast<const char*>(data), size});
  if (!got) {
    COMITY_CHECK(!got.error().message.empty());
    return 0;
  }
  const auto back = read(write_simai(*got));
  COMITY_CHECK(back.has_value() && *back == *got);
  SimaiMachine machine;
  machine.gpus = 64;
  machine.nvlink_gb_s = 360;
  machine.nic_gb_s = 48.5;
  machine.dp_overlap = 0.3;
  machine.pp_overlap = 0.3;
  const auto estimate = simai_estimate(*got, machine, "fuzz");
  COMITY_CHECK(estimate ? estimate->total_us > 0 && !simai_csv(*estimate, "x").empty()
                        : !estimate.error().message.empty());
  return 0;
}
