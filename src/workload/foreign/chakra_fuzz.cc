// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "workload/foreign/astra.h"

namespace {

using namespace comity;            // NOLINT(google-build-using-namespace): a fuzzer of one function
using namespace comity::workload;  // NOLINT(google-build-using-namespace)

Result<ChakraTrace> read(std::string_view bytes) {
  auto source = memory_source(bytes);
  if (!source) return fail(source.error());
  return read_chakra_from(**source, "fuzz");
}

// Two ranks do the same: it runs, or says why not.
void run(const ChakraTrace& trace) {
  AstraSystem system;
  system.splits = 2;
  system.local_mem_gb_s = 1600;
  for (auto* list : {&system.all_reduce, &system.all_gather, &system.reduce_scatter, &system.all_to_all})
    list->assign(1, {AstraAlgorithm::kDirect, 0});
  const AstraNetwork network = {{{AstraTopology::kSwitch, 2, 50, 500}}};
  const std::vector<ChakraTrace> traces = {trace, trace};
  const auto got = astra_unaware(traces, system, network, {{1, {1, 0}}}, "fuzz");
  COMITY_CHECK(got ? got->iteration_ns > 0 : !got.error().message.empty());
}

}  // namespace

// Any bytes end in a trace that comes back as it was written, or in an Error.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto got = read({reinterpret_cast<const char*>(data), size});
  if (!got) {
    COMITY_CHECK(!got.error().message.empty());
    return 0;
  }
  const std::string bytes = write_chakra(*got);
  const auto back = read(bytes);
  COMITY_CHECK(back.has_value() && back->nodes() == got->nodes() && write_chakra(*back) == bytes);
  const auto statistics = chakra_statistics(*got, "fuzz");
  COMITY_CHECK(!statistics || statistics->nodes == got->nodes());
  if (got->nodes() <= 1000) run(*got);
  return 0;
}
