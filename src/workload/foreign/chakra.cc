// SPDX-License-Identifier: Apache-2.0
#include "workload/foreign/chakra.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/text.h"
#include "workload/foreign/wire.h"

namespace comity::workload {

namespace {

template <class T>
std::span<const T> piece(const std::vector<T>& all, const std::vector<std::uint64_t>& end, std::size_t i) {
  const std::size_t begin = i == 0 ? 0 : end[i - 1];
  return {all.data() + begin, end[i] - begin};
}

std::optional<std::int64_t> whole(double v) {
  if (!(std::abs(v) <= 9007199254740992.0) || v != std::floor(v)) return {};
  return static_cast<std::int64_t>(v);
}

std::int64_t unzigzag(std::uint64_t v) { return static_cast<std::int64_t>((v >> 1) ^ (~(v & 1) + 1)); }

std::optional<std::int64_t> number_of(const ChakraAttribute& attribute, const Strings& strings) {
  switch (attribute.field) {
    case 3: return whole(std::bit_cast<double>(attribute.bits));
    case 5: return whole(static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(attribute.bits))));
    case 11:
    case 13:
    case 19:
    case 21:
      if (attribute.bits > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return {};
      return static_cast<std::int64_t>(attribute.bits);
    case 7:
    case 9:
    case 25: return static_cast<std::int64_t>(attribute.bits);
    case 15:
    case 17: return unzigzag(attribute.bits);
    case 23: return static_cast<std::int32_t>(static_cast<std::uint32_t>(attribute.bits));
    case 27: return attribute.bits != 0 ? 1 : 0;
    case 29: return parse_int(trim(strings[attribute.text]));
    default: return {};
  }
}

}  // namespace

Strings::Strings(const Strings& other) : texts_(other.texts_) {
  for (std::uint32_t i = 0; i < texts_.size(); ++i) numbers_.emplace(texts_[i], i);
}

Strings& Strings::operator=(const Strings& other) {
  if (this != &other) *this = Strings(other);
  return *this;
}

std::uint32_t Strings::intern(std::string_view text) {
  if (const auto found = numbers_.find(text); found != numbers_.end()) return found->second;
  const auto number = static_cast<std::uint32_t>(texts_.size());
  texts_.emplace_back(text);
  numbers_.emplace(texts_.back(), number);
  return number;
}

std::string_view node_type_name(NodeType type) {
  static constexpr std::string_view kNames[] = {"invalid", "metadata", "mem_load", "mem_store",
                                                "compute", "send",     "receive",  "collective"};
  return kNames[static_cast<std::size_t>(type)];
}

std::string_view collective_name(ChakraCollective type) {
  static constexpr std::string_view kNames[] = {
      "all_reduce", "reduce",         "all_gather",           "gather", "scatter", "broadcast",
      "all_to_all", "reduce_scatter", "reduce_scatter_block", "barrier"};
  return kNames[static_cast<std::size_t>(type)];
}

std::span<const std::uint64_t> ChakraTrace::ctrl_of(std::size_t node) const { return piece(ctrl, ctrl_end, node); }
std::span<const std::uint64_t> ChakraTrace::data_of(std::size_t node) const { return piece(data, data_end, node); }
std::span<const ChakraAttribute> ChakraTrace::attrs_of(std::size_t node) const { return piece(attrs, attr_end, node); }

const ChakraAttribute* ChakraTrace::attr(std::size_t node, std::string_view wanted) const {
  for (const ChakraAttribute& a : attrs_of(node))
    if (strings[a.name] == wanted) return &a;
  return nullptr;
}

std::optional<std::int64_t> ChakraTrace::integer(std::size_t node, std::string_view wanted) const {
  const ChakraAttribute* a = attr(node, wanted);
  return a == nullptr ? std::nullopt : number_of(*a, strings);
}

std::optional<bool> ChakraTrace::boolean(std::size_t node, std::string_view wanted) const {
  const auto number = integer(node, wanted);
  return number ? std::optional<bool>(*number != 0) : std::nullopt;
}

std::string ChakraTrace::text(std::size_t node, std::string_view wanted) const {
  const ChakraAttribute* a = attr(node, wanted);
  if (a == nullptr) return {};
  if (a->field == 29 || a->field == 31) return std::string(strings[a->text]);
  const auto number = number_of(*a, strings);
  return number ? std::to_string(*number) : std::string();
}

std::optional<std::vector<bool>> ChakraTrace::booleans(std::size_t node, std::string_view wanted) const {
  const ChakraAttribute* a = attr(node, wanted);
  if (a == nullptr || a->field != 28) return {};
  std::vector<bool> out;
  wire::Reader reader(strings[a->text]);
  wire::Field field;
  while (reader.next(field))
    if (field.number != 1 || !wire::integers(field, [&](std::uint64_t v) { out.push_back(v != 0); })) return {};
  if (reader.broken()) return {};
  return out;
}

std::string ChakraTrace::label(std::size_t node) const {
  return fmt::format("node {} (\"{}\")", id[node], printable(strings[name[node]], 60));
}

void ChakraTrace::begin_node(std::uint64_t node_id, NodeType node_type, std::string_view node_name) {
  id.push_back(node_id);
  type.push_back(node_type);
  name.push_back(strings.intern(node_name));
  start_us.push_back(0);
  duration_us.push_back(0);
  inputs.emplace_back();
  outputs.emplace_back();
  ctrl_end.push_back(ctrl.size());
  data_end.push_back(data.size());
  attr_end.push_back(attrs.size());
}

void ChakraTrace::add_ctrl(std::uint64_t dependency) {
  ctrl.push_back(dependency);
  ++ctrl_end.back();
}

void ChakraTrace::add_data(std::uint64_t dependency) {
  data.push_back(dependency);
  ++data_end.back();
}

void ChakraTrace::add_attr(const ChakraAttribute& attribute) {
  attrs.push_back(attribute);
  ++attr_end.back();
}

void ChakraTrace::add_integer(std::string_view attribute, std::int64_t value) {
  add_attr({.name = strings.intern(attribute), .field = 9, .bits = static_cast<std::uint64_t>(value)});
}

void ChakraTrace::add_boolean(std::string_view attribute, bool value) {
  add_attr({.name = strings.intern(attribute), .field = 27, .bits = value ? 1U : 0U});
}

void ChakraTrace::add_text(std::string_view attribute, std::string_view value) {
  const std::uint32_t number = strings.intern(attribute);
  add_attr({.name = number, .text = strings.intern(value), .field = 29});
}

}  // namespace comity::workload
