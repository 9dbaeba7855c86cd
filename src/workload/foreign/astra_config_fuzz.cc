// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "workload/foreign/astra.h"

namespace {

template <class T>
void check(const comity::Result<T>& got, comity::Result<T> (*parse)(std::string_view, const std::string&),
           std::string (*write)(const T&)) {
  if (!got) {
    COMITY_CHECK(!got.error().message.empty() && got.error().line >= 1);
    return;
  }
  const auto back = parse(write(*got), "back");
  COMITY_CHECK(back.has_value() && *back == *got);
}

}  // namespace

// Any text is a network, a system or groups that read back as they were written, or an Error with a line.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace comity::workload;  // NOLINT(google-build-using-namespace)
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(parse_astra_network(text, "fuzz"), &parse_astra_network, &astra_network_yaml);
  check(parse_astra_system(text, "fuzz"), &parse_astra_system, &astra_system_json);
  check(parse_astra_groups(text, "fuzz"), &parse_astra_groups, &astra_groups_json);
  return 0;
}
