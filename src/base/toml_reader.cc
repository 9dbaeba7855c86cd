// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "base/toml.h"

namespace comity {
namespace {

std::string path_of(const std::string& where, std::string_view key) {
  return where.empty() ? printable(key) : where + '.' + printable(key);
}

std::string real_text(double v) {
  if (!std::isfinite(v) || std::fabs(v) >= 1e15) return v < 0 ? "-inf" : "inf";
  std::string out = format_double(v, 9);
  out.erase(out.find_last_not_of('0') + 1);
  if (out.ends_with('.')) out.pop_back();
  return out;
}

double number_of(const TomlValue& value) {  // NaN when it is none
  if (const double* d = std::get_if<double>(&value.v)) return *d;
  if (const std::int64_t* i = std::get_if<std::int64_t>(&value.v)) return static_cast<double>(*i);
  return std::nan("");
}

// Calls item(value) for each; false when `value` is no array or item() refuses one.
template <class Item>
bool each(const TomlValue& value, const Item& item) {
  const TomlArray* array = std::get_if<TomlArray>(&value.v);
  return array != nullptr && std::all_of(array->begin(), array->end(), item);
}

}  // namespace

TomlReader::TomlReader(const TomlTable& table, std::string file, std::string where, std::int64_t line)
    : table_(&table), file_(std::move(file)), where_(std::move(where)), line_(line) {}

const TomlValue* TomlReader::look(std::string_view key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.emplace_back(key);
  const auto found = table_->find(key);
  return found == table_->end() ? nullptr : &found->second;
}

void TomlReader::refuse(std::string_view key, std::string message) {
  if (!status_) return;  // the first error is the one to mend first
  const auto found = table_->find(key);
  const std::int64_t line = found == table_->end() ? line_ : found->second.line;
  status_ = fail(Error{.code = Code::kInput,
                       .message = std::move(message),
                       .file = file_,
                       .line = line,
                       .field = path_of(where_, key),
                       .hint = {},
                       .cause = {}});
}

bool TomlReader::boolean(std::string_view key, bool fallback) {
  const TomlValue* value = look(key);
  if (value == nullptr) return fallback;
  if (const bool* v = std::get_if<bool>(&value->v)) return *v;
  refuse(key, "must be true or false");
  return fallback;
}

std::int64_t TomlReader::integer(std::string_view key, std::int64_t fallback, std::int64_t low, std::int64_t high) {
  const TomlValue* value = look(key);
  if (value == nullptr) return fallback;
  const std::int64_t* v = std::get_if<std::int64_t>(&value->v);
  if (v != nullptr && *v >= low && *v <= high) return *v;
  refuse(key, "must be a whole number between " + std::to_string(low) + " and " + std::to_string(high));
  return fallback;
}

double TomlReader::real(std::string_view key, double fallback, double low, double high) {
  const TomlValue* value = look(key);
  if (value == nullptr) return fallback;
  const double v = number_of(*value);
  if (v >= low && v <= high) return v;
  refuse(key, "must be a number between " + real_text(low) + " and " + real_text(high));
  return fallback;
}

std::string TomlReader::text(std::string_view key, std::string fallback) {
  const TomlValue* value = look(key);
  if (value == nullptr) return fallback;
  if (const std::string* v = std::get_if<std::string>(&value->v)) return *v;
  refuse(key, "must be a text in quotes");
  return fallback;
}

std::vector<std::string> TomlReader::texts(std::string_view key) {
  std::vector<std::string> out;
  const TomlValue* value = look(key);
  if (value == nullptr) return out;
  const auto take = [&](const TomlValue& item) {
    const std::string* v = std::get_if<std::string>(&item.v);
    if (v != nullptr) out.push_back(*v);
    return v != nullptr;
  };
  if (each(*value, take)) return out;
  refuse(key, "must be an array of texts in quotes");
  return {};
}

std::vector<std::int64_t> TomlReader::integers(std::string_view key, std::int64_t low, std::int64_t high) {
  std::vector<std::int64_t> out;
  const TomlValue* value = look(key);
  if (value == nullptr) return out;
  const auto take = [&](const TomlValue& item) {
    const std::int64_t* v = std::get_if<std::int64_t>(&item.v);
    if (v != nullptr) out.push_back(*v);
    return v != nullptr && *v >= low && *v <= high;
  };
  if (each(*value, take)) return out;
  refuse(key, "must be an array of whole numbers between " + std::to_string(low) + " and " + std::to_string(high));
  return {};
}

std::vector<double> TomlReader::reals(std::string_view key, double low, double high) {
  std::vector<double> out;
  const TomlValue* value = look(key);
  if (value == nullptr) return out;
  const auto take = [&](const TomlValue& item) {
    out.push_back(number_of(item));
    return out.back() >= low && out.back() <= high;
  };
  if (each(*value, take)) return out;
  refuse(key, "must be an array of numbers between " + real_text(low) + " and " + real_text(high));
  return {};
}

std::vector<std::pair<double, double>> TomlReader::points(std::string_view key, double low, double high) {
  std::vector<std::pair<double, double>> out;
  const TomlValue* value = look(key);
  if (value == nullptr) return out;
  const auto take = [&](const TomlValue& item) {
    std::vector<double> pair;
    const auto number = [&](const TomlValue& one) {
      pair.push_back(number_of(one));
      return pair.back() >= low && pair.back() <= high;
    };
    if (!each(item, number) || pair.size() != 2) return false;
    out.emplace_back(pair[0], pair[1]);
    return true;
  };
  if (each(*value, take)) return out;
  refuse(key, "must be an array of [x, y], numbers between " + real_text(low) + " and " + real_text(high));
  return {};
}

std::optional<TomlReader> TomlReader::table(std::string_view key) {
  const TomlValue* value = look(key);
  if (value == nullptr) return std::nullopt;
  if (const TomlTable* inner = std::get_if<TomlTable>(&value->v))
    return TomlReader(*inner, file_, path_of(where_, key), value->line);
  refuse(key, "must be a table, written [" + printable(key) + "]");
  return std::nullopt;
}

std::vector<TomlReader> TomlReader::tables(std::string_view key) {
  std::vector<TomlReader> out;
  const TomlValue* value = look(key);
  if (value == nullptr) return out;
  const TomlArray* array = std::get_if<TomlArray>(&value->v);
  if (array != nullptr) {
    for (const TomlValue& item : *array) {
      const TomlTable* inner = std::get_if<TomlTable>(&item.v);
      if (inner == nullptr) break;
      out.emplace_back(*inner, file_, path_of(where_, key) + '[' + std::to_string(out.size()) + ']', item.line);
    }
  }
  if (array != nullptr && out.size() == array->size()) return out;
  refuse(key, "must be an array of tables, written [[" + printable(key) + "]]");
  return {};
}

bool TomlReader::has(std::string_view key) const { return table_->find(key) != table_->end(); }

void TomlReader::require(std::string_view key) {
  if (look(key) == nullptr) refuse(key, "is missing");
}

Status TomlReader::finish() {
  if (!status_) return status_;
  for (const auto& [key, value] : *table_) {
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    refuse(key, "unknown key");
    const std::string near = nearest(key, known_);
    if (!near.empty()) status_.error().hint = "did you mean " + near + '?';
    break;
  }
  return status_;
}

}  // namespace comity
