// SPDX-License-Identifier: Apache-2.0
#include "profile/rates.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/input.h"
#include "base/limits.h"
#include "base/text.h"
#include "base/toml.h"
#include "profile/library.h"

namespace comity::profile {
namespace {

constexpr std::string_view kSchema = "comity.rates/1";

std::string key_of(std::string_view model, std::int64_t batch_size) { return fmt::format("{}\n{}", model, batch_size); }

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

// The rate at `gpus` of a curve through rates[i] at counts[i].
double at(const std::vector<std::uint32_t>& counts, const std::vector<double>& rates, std::uint32_t gpus) {
  const auto above = std::lower_bound(counts.begin(), counts.end(), gpus);
  const auto i = static_cast<std::size_t>(above - counts.begin());
  if (above != counts.end() && *above == gpus) return rates[i];
  if (i == 0 || above == counts.end()) {
    const std::size_t near = i == 0 ? 0 : i - 1;
    return rates[near] * std::pow(static_cast<double>(gpus) / counts[near], Rates::kScaling);
  }
  if (rates[i - 1] == 0 || rates[i] == 0) return 0;
  const double part =
      std::log(static_cast<double>(gpus) / counts[i - 1]) / std::log(static_cast<double>(counts[i]) / counts[i - 1]);
  return rates[i - 1] * std::pow(rates[i] / rates[i - 1], part);
}

}  // namespace

class RatesReader {
 public:
  RatesReader(std::string file, Rates& into) : file_(std::move(file)), into_(into) {}

  Status read(const TomlTable& document) {
    TomlReader root(document, file_, "");
    root.require("schema");
    if (root.text("schema", std::string(kSchema)) != kSchema)
      root.refuse("schema", fmt::format("must be \"{}\"", kSchema));
    into_.source_ = root.text("source", "");
    root.require("reference");
    const std::string reference = root.text("reference", "");
    const std::vector<TomlReader> rows = root.tables("rates");
    if (Status status = root.finish(); !status) return status;
    for (TomlReader row : rows) {
      if (Status status = kind(row); !status) return status;
    }
    for (Rates::Kind& kind : into_.kinds_) kind.curves.resize(into_.types_.size());
    into_.reference_ = into_.type(reference);
    if (into_.reference_ == Rates::kNone) {
      root.refuse("reference", fmt::format("no row has rates of the type '{}'", printable(reference)));
      return root.finish();
    }
    return {};
  }

 private:
  Status kind(TomlReader& row) {
    row.require("model");
    row.require("gpus");
    const std::string model = row.text("model", "");
    if (model.empty() || model.size() > limits::kNameBytes) row.refuse("model", "must have 1 to 4096 bytes");
    const std::int64_t batch = row.integer("batch_size", -1, 1, 1'000'000'000);
    Rates::Kind kind;
    for (const std::int64_t gpus : row.integers("gpus", 1, limits::kGpusPerJob)) {
      const auto count = static_cast<std::uint32_t>(gpus);
      if (!kind.gpus.empty() && count <= kind.gpus.back()) row.refuse("gpus", "must rise");
      kind.gpus.push_back(count);
    }
    if (kind.gpus.empty() || kind.gpus.size() > Rates::kMostCounts) row.refuse("gpus", "must have 1 to 64 numbers");
    if (into_.kinds_.size() == Rates::kMostKinds) row.refuse("model", "more than 10000 rows");
    if (!into_.index_.try_emplace(key_of(model, batch), static_cast<std::uint32_t>(into_.kinds_.size())).second)
      row.refuse("model", "an earlier row has the same model and batch size");
    if (Status status = curves(row, "packed", kind, &Rates::Curve::packed); !status) return status;
    if (Status status = curves(row, "spread", kind, &Rates::Curve::spread); !status) return status;
    into_.kinds_.push_back(std::move(kind));
    return row.finish();
  }

  Status curves(TomlReader& row, std::string_view key, Rates::Kind& kind, std::vector<double> Rates::Curve::* member) {
    const TomlValue* value = row.value(key);
    const TomlTable* table = value == nullptr ? nullptr : std::get_if<TomlTable>(&value->v);
    if (table == nullptr) {
      if (value != nullptr) row.refuse(key, "must be a table of types");
      return {};
    }
    TomlReader reader(*table, file_, fmt::format("rates[{}].{}", into_.kinds_.size(), key), value->line);
    for (const auto& [name, unused] : *table) {
      std::vector<double> rates = reader.reals(name, 0, Rates::kMostRate);
      if (rates.size() != kind.gpus.size())
        reader.refuse(name, fmt::format("has {} rates, `gpus` {} numbers", rates.size(), kind.gpus.size()));
      const std::size_t type = type_of(name);
      if (type == Rates::kMostTypes || name.empty()) {
        reader.refuse(name, "is no name, or more than 64 types");
        break;
      }
      if (kind.curves.size() <= type) kind.curves.resize(type + 1);
      if (!(kind.curves[type].*member).empty()) reader.refuse(name, "another key has the same type");
      kind.curves[type].*member = std::move(rates);
    }
    return reader.finish();
  }

  std::size_t type_of(const std::string& name) {
    const std::uint32_t known = into_.type(name);
    if (known != Rates::kNone) return known;
    if (into_.types_.size() < Rates::kMostTypes) {
      into_.types_.push_back(lower(name));
      return into_.types_.size() - 1;
    }
    return Rates::kMostTypes;
  }

  std::string file_;
  Rates& into_;
};

std::uint32_t Rates::kind(std::string_view model, std::int64_t batch_size) const {
  auto it = index_.find(key_of(model, batch_size));
  if (it == index_.end()) it = index_.find(key_of(model, -1));
  return it == index_.end() ? kNone : it->second;
}

std::uint32_t Rates::type(std::string_view name) const {
  const auto it = std::find(types_.begin(), types_.end(), lower(name));
  return it == types_.end() ? kNone : static_cast<std::uint32_t>(it - types_.begin());
}

double Rates::rate(std::uint32_t kind, std::uint32_t type, std::uint32_t gpus, std::uint32_t nodes) const {
  if (kind == kNone || type == kNone) return -1;
  const Kind& k = kinds_[kind];
  const Curve& curve = k.curves[type];
  const bool spread = (nodes > 1 && !curve.spread.empty()) || curve.packed.empty();
  const std::vector<double>& rates = spread ? curve.spread : curve.packed;
  return rates.empty() ? -1 : at(k.gpus, rates, gpus);
}

bool Rates::known(std::uint32_t kind, std::uint32_t type, std::uint32_t asked) const {
  return rate(kind, type, asked, 1) >= 0 && rate(kind, reference_, asked, 1) > 0;
}

double Rates::speed(std::uint32_t kind, std::uint32_t type, std::uint32_t asked, std::uint32_t gpus,
                    std::uint32_t nodes) const {
  if (!known(kind, type, asked)) return gpus == asked ? 1 : std::pow(static_cast<double>(gpus) / asked, kScaling);
  return rate(kind, type, gpus, nodes) / rate(kind, reference_, asked, 1);
}

double Rates::speed_in_any_case(std::uint32_t kind, std::uint32_t type, std::uint32_t asked, std::uint32_t gpus,
                                std::uint32_t nodes) const {
  constexpr double kLeast = 1e-3;
  double speed = this->speed(kind, type, asked, gpus, nodes);
  if (speed == 0) speed = this->speed(kind, type, asked, 1, 1) * std::pow(static_cast<double>(gpus), kScaling);
  return std::max(speed, kLeast);
}

Result<Rates> parse_rates(std::string_view text, const std::string& file) {
  const Result<TomlTable> document = parse_toml(text, file);
  if (!document) return fail(document.error());
  Rates rates;
  if (Status status = RatesReader(file, rates).read(*document); !status) return fail(status.error());
  return rates;
}

Result<Rates> read_rates(const std::string& path) {
  const Result<std::string> text = read_document(path);
  if (!text) return fail(text.error());
  return parse_rates(*text, path);
}

const Rates& library_rates() {
  static const Rates rates = [] {
    const std::span<const LibraryFile> files = library_throughput();
    COMITY_CHECK(files.size() == 1);
    Result<Rates> read = parse_rates(files[0].text, std::string(files[0].name));
    COMITY_CHECK(read.has_value());
    return std::move(*read);
  }();
  return rates;
}

}  // namespace comity::profile
