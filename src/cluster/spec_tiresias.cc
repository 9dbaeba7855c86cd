// SPDX-License-Identifier: Apache-2.0
#include "cluster/spec_tiresias.h"

#include <array>

#include <fmt/format.h>

#include "base/limits.h"
#include "base/text.h"

namespace comity::cluster {
namespace {

constexpr std::string_view kHeader = "num_switch,num_node_p_switch,num_gpu_p_node,num_cpu_p_node,mem_p_node";
constexpr std::array<std::int64_t, 5> kMost = {limits::kNodes, limits::kNodes, limits::kGpusPerNode, 1'000'000,
                                               1'000'000'000};

std::string_view first_line(std::string_view text) { return trim(text.substr(0, text.find('\n'))); }

}  // namespace

bool is_tiresias_cluster(std::string_view text) { return first_line(text) == kHeader; }

Result<ClusterSpec> parse_tiresias_cluster(std::string_view text, const std::string& path) {
  const auto refuse = [&](std::string_view field, std::string message) {
    return fail(Error{.code = Code::kInput,
                      .message = std::move(message),
                      .file = path,
                      .line = 2,
                      .field = std::string(field),
                      .hint = "one line of five whole numbers follows the header",
                      .cause = {}});
  };
  const std::size_t end = text.find('\n');
  std::string_view rest = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  while (!rest.empty() && (rest.back() == '\n' || rest.back() == '\r')) rest.remove_suffix(1);
  rest = trim(rest);
  if (rest.empty()) return refuse({}, "the line with the numbers is missing");
  if (rest.find('\n') != std::string_view::npos) return refuse({}, "more than one line of numbers");
  const auto fields = split(rest, ',');
  const auto titles = split(kHeader, ',');
  if (fields.size() != titles.size())
    return refuse({}, fmt::format("the line has {} fields, the header {}", fields.size(), titles.size()));
  std::array<std::int64_t, 5> value{};
  for (std::size_t i = 0; i < value.size(); ++i) {
    const auto number = parse_int(trim(fields[i]));
    const std::int64_t least = i < 3 ? 1 : 0;
    if (!number || *number < least || *number > kMost[i])
      return refuse(titles[i],
                    fmt::format("is no whole number from {} to {}: '{}'", least, kMost[i], printable(trim(fields[i]))));
    value[i] = *number;
  }
  if (value[0] > limits::kNodes / value[1]) return refuse(titles[1], fmt::format("more than {} nodes", limits::kNodes));
  ClusterSpec spec;
  for (std::int64_t i = 0; i < value[0] * value[1]; ++i) {
    NodeSpec& node = spec.nodes.emplace_back();
    node.name = fmt::format("node{}", i);
    node.gpus = static_cast<std::uint32_t>(value[2]);
    node.cpus = static_cast<std::uint32_t>(value[3]);
    node.memory_mb = static_cast<std::uint64_t>(value[4]) * 1024;
  }
  return spec;
}

}  // namespace comity::cluster
