// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "workload/calculon/cost.h"

// Three documents, one behind another, cut at "%%".
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace comity::workload::calculon;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::size_t first = all.find("%%");
  const std::size_t second = first == all.npos ? all.npos : all.find("%%", first + 2);
  if (second == all.npos) return 0;
  const auto app = parse_application(all.substr(0, first), "app");
  const auto exe = parse_execution(all.substr(first + 2, second - first - 2), "exe");
  const auto sys = parse_system(all.substr(second + 2), "sys");
  if (!app || !exe || !sys) return 0;
  const auto got = evaluate(*app, *exe, *sys);
  if (got)
    COMITY_CHECK(got->total_time > 0);
  else
    COMITY_CHECK(!got.error().message.empty());
  return 0;
}
