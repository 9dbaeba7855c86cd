// SPDX-License-Identifier: Apache-2.0
#include "base/params.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/text.h"
#include "base/units.h"

namespace comity {

namespace {

constexpr double kNoBound = 1e18;  // a range that goes so far has no end

using Typed = std::variant<bool, std::int64_t, double, std::string>;

struct Refusal {
  std::string message;
  std::string hint;
};

std::string range_text(const Param& p) {
  return fmt::format("{} to {}{}{}", p.low, p.high, p.unit.empty() ? "" : " ", p.unit);
}

bool in_range(const Param& p, double number) { return p.low == p.high || (number >= p.low && number <= p.high); }

tl::expected<std::vector<double>, Refusal> parse_list(const Param& p, std::string_view text) {
  std::vector<double> list;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    const auto number = parse_double(word);
    if (!number) return tl::unexpected<Refusal>({fmt::format("'{}' is not a number", printable(word)), {}});
    if (!in_range(p, *number))
      return tl::unexpected<Refusal>({fmt::format("{} is out of range", printable(word)), range_text(p)});
    list.push_back(*number);
    begin = end + 1;
  }
  return list;
}

// The typed value of `text` and the number that the range bounds, or why it is none.
tl::expected<std::pair<Typed, double>, Refusal> parse_value(const Param& p, std::string_view text) {
  const auto refuse = [&](std::string_view what, std::string hint = {}) {
    return tl::unexpected<Refusal>({fmt::format("'{}' is {}", printable(text), what), std::move(hint)});
  };
  switch (p.type) {
    case Param::Type::kBool:
      if (text == "true" || text == "1" || text == "on") return std::pair(Typed(true), p.low);
      if (text == "false" || text == "0" || text == "off") return std::pair(Typed(false), p.low);
      return refuse("neither true nor false");
    case Param::Type::kInt:
      if (const auto i = parse_int(text)) return std::pair(Typed(*i), static_cast<double>(*i));
      return refuse("not a whole number");
    case Param::Type::kReal:
      if (text == "inf") {
        const double infinity = std::numeric_limits<double>::infinity();
        return std::pair(Typed(infinity), p.high >= kNoBound ? p.high : infinity);
      }
      if (const auto d = parse_double(text)) return std::pair(Typed(*d), *d);
      return refuse("not a number");
    case Param::Type::kTime:
      if (const auto t = parse_length(text)) return std::pair(Typed(*t), to_seconds(*t));
      return refuse("not a time", "write seconds or 30s, 10m, 4h, 2d");
    case Param::Type::kChoice:
      if (std::find(p.choices.begin(), p.choices.end(), text) == p.choices.end()) {
        return refuse(fmt::format("not one of {}", fmt::join(p.choices, ", ")));
      }
      break;
    case Param::Type::kList:
    case Param::Type::kFile:
    case Param::Type::kText:
      if (text.size() > limits::kNameBytes) return refuse(fmt::format("longer than {} bytes", limits::kNameBytes));
      break;
  }
  return std::pair(Typed(std::string(text)), p.low);
}

}  // namespace

Params::Params(std::vector<Param> declared) : declared_(std::move(declared)) {
  for (const Param& p : declared_) {
    COMITY_CHECK(!values_.contains(p.name));  // declared twice
    const Status status = set(p.name, p.fallback, "default");
    COMITY_CHECK(status.has_value());  // a default outside its own range
  }
}

const Param* Params::find(std::string_view name) const {
  const auto it = std::find_if(declared_.begin(), declared_.end(), [&](const Param& p) { return p.name == name; });
  return it == declared_.end() ? nullptr : &*it;
}

bool Params::knows(std::string_view name) const { return find(name) != nullptr; }

Status Params::set(std::string_view name, std::string_view value, std::string origin) {
  const auto bad = [&](std::string message, std::string hint) {
    return fail(Error{.code = Code::kUsage,
                      .message = std::move(message),
                      .file = {},
                      .line = 0,
                      .field = printable(name),
                      .hint = std::move(hint),
                      .cause = {}});
  };
  const Param* p = find(name);
  if (p == nullptr) {
    std::vector<std::string> names;
    for (const Param& q : declared_) names.push_back(q.name);
    const std::string near = nearest(name, names);
    return bad("unknown parameter",
               near.empty() ? "`comity policy show NAME` lists them" : fmt::format("did you mean '{}'?", near));
  }
  auto parsed = parse_value(*p, value);
  if (!parsed) return bad(std::move(parsed.error().message), std::move(parsed.error().hint));
  auto& [typed, number] = *parsed;
  if (!in_range(*p, number)) return bad(fmt::format("{} is out of range", printable(value)), range_text(*p));
  std::vector<double> list;
  if (p->type == Param::Type::kList) {
    auto numbers = parse_list(*p, value);
    if (!numbers) return bad(std::move(numbers.error().message), std::move(numbers.error().hint));
    list = std::move(*numbers);
  }
  values_.insert_or_assign(std::string(name),
                           Value{std::move(typed), std::move(list), std::string(value), std::move(origin)});
  return {};
}

Status Params::load(std::string_view name, std::vector<double> numbers) {
  const Param* p = find(name);
  COMITY_CHECK(p != nullptr && p->type == Param::Type::kFile);
  Value& value = values_.find(name)->second;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (in_range(*p, numbers[i])) continue;
    return fail(Error{.code = Code::kInput,
                      .message = fmt::format("number {} of the file is {}, out of range", i + 1, numbers[i]),
                      .file = value.text,
                      .line = 0,
                      .field = printable(name),
                      .hint = range_text(*p),
                      .cause = {}});
  }
  value.list = std::move(numbers);
  return {};
}

const Params::Value& Params::get(std::string_view name) const {
  const auto it = values_.find(name);
  COMITY_CHECK(it != values_.end());
  return it->second;
}

const Params::Value& Params::get(std::string_view name, Param::Type type) const {
  const Param* p = find(name);
  COMITY_CHECK(p != nullptr);
  COMITY_CHECK(p->type == type);
  return get(name);
}

bool Params::boolean(std::string_view name) const { return std::get<bool>(get(name, Param::Type::kBool).v); }

std::int64_t Params::integer(std::string_view name) const {
  return std::get<std::int64_t>(get(name, Param::Type::kInt).v);
}

double Params::real(std::string_view name) const { return std::get<double>(get(name, Param::Type::kReal).v); }

std::int64_t Params::time(std::string_view name) const {
  return std::get<std::int64_t>(get(name, Param::Type::kTime).v);
}

const std::string& Params::text(std::string_view name) const {
  const std::string* v = std::get_if<std::string>(&get(name).v);
  COMITY_CHECK(v != nullptr);
  return *v;
}

const std::vector<double>& Params::reals(std::string_view name) const {
  const Param* p = find(name);
  COMITY_CHECK(p != nullptr && (p->type == Param::Type::kList || p->type == Param::Type::kFile));
  return get(name).list;
}

const std::string& Params::value_text(std::string_view name) const { return get(name).text; }

const std::string& Params::origin(std::string_view name) const { return get(name).origin; }

}  // namespace comity
