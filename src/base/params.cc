// SPDX-License-Identifier: Apache-2.0
#include "base/params.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/check.h"
#include "base/text.h"
#include "base/units.h"

namespace comity {

Params::Params(std::vector<Param> declared) : declared_(std::move(declared)) {
  for (const Param& p : declared_) {
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
  const Param* p = find(name);
  const auto bad = [&](std::string message, std::string hint) {
    return fail(Error{.code = Code::kUsage, .message = std::move(message), .file = {}, .line = 0, .field = printable(name),
                      .hint = std::move(hint), .cause = {}});
  };
  if (p == nullptr) {
    std::vector<std::string> names;
    for (const Param& q : declared_) names.push_back(q.name);
    const std::string near = nearest(name, names);
    return bad("unknown parameter", near.empty() ? "`comity policy show NAME` lists them" : fmt::format("did you mean '{}'?", near));
  }
  const std::string shown = printable(value);
  Value v;
  double in_range = 0;
  switch (p->type) {
    case Param::Type::kBool:
      if (value != "true" && value != "false" && value != "1" && value != "0" && value != "on" && value != "off")
        return bad(fmt::format("'{}' is neither true nor false", shown), "");
      v.v = value == "true" || value == "1" || value == "on";
      break;
    case Param::Type::kInt: {
      const auto i = parse_int(value);
      if (!i) return bad(fmt::format("'{}' is not a whole number", shown), "");
      v.v = *i;
      in_range = static_cast<double>(*i);
      break;
    }
    case Param::Type::kReal: {
      const auto d = value == "inf" ? std::optional(std::numeric_limits<double>::infinity()) : parse_double(value);
      if (!d) return bad(fmt::format("'{}' is not a number", shown), "");
      v.v = *d;
      in_range = value == "inf" ? p->high : *d;
      break;
    }
    case Param::Type::kTime: {
      const auto t = parse_length(value);
      if (!t) return bad(fmt::format("'{}' is not a time", shown), "write seconds or 30s, 10m, 4h, 2d");
      v.v = *t;
      in_range = to_seconds(*t);
      break;
    }
    case Param::Type::kChoice:
      if (std::find(p->choices.begin(), p->choices.end(), value) == p->choices.end())
        return bad(fmt::format("'{}' is not one of {}", shown, fmt::join(p->choices, ", ")), "");
      v.v = std::string(value);
      break;
    case Param::Type::kText: v.v = std::string(value); break;
  }
  if (p->low != p->high && (in_range < p->low || in_range > p->high))
    return bad(fmt::format("{} is out of range", shown), fmt::format("{} to {}{}", p->low, p->high, p->unit.empty() ? "" : " " + p->unit));
  v.text = std::string(value);
  v.origin = std::move(origin);
  values_.insert_or_assign(std::string(name), std::move(v));
  return {};
}

const Params::Value& Params::get(std::string_view name) const {
  const auto it = values_.find(name);
  COMITY_CHECK(it != values_.end());
  return it->second;
}

bool Params::boolean(std::string_view name) const { return std::get<bool>(get(name).v); }
std::int64_t Params::integer(std::string_view name) const { return std::get<std::int64_t>(get(name).v); }
double Params::real(std::string_view name) const { return std::get<double>(get(name).v); }
std::int64_t Params::time(std::string_view name) const { return std::get<std::int64_t>(get(name).v); }
const std::string& Params::text(std::string_view name) const { return std::get<std::string>(get(name).v); }
const std::string& Params::value_text(std::string_view name) const { return get(name).text; }
const std::string& Params::origin(std::string_view name) const { return get(name).origin; }

}  // namespace comity
