// SPDX-License-Identifier: Apache-2.0
// Strong ids over dense uint32: a NodeId cannot be passed where a JobId is asked for.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace comity {

template <class Tag>
struct Id {
  std::uint32_t value = kInvalid;

  static constexpr std::uint32_t kInvalid = 0xffffffffU;
  constexpr Id() = default;
  constexpr explicit Id(std::uint32_t v) : value(v) {}
  [[nodiscard]] constexpr bool valid() const { return value != kInvalid; }
  [[nodiscard]] constexpr std::size_t index() const { return value; }
  friend constexpr auto operator<=>(Id, Id) = default;
};

using JobId = Id<struct JobTag>;
using NodeId = Id<struct NodeTag>;

}  // namespace comity

template <class Tag>
struct std::hash<comity::Id<Tag>> {
  std::size_t operator()(comity::Id<Tag> id) const noexcept { return id.value; }
};
