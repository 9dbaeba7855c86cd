// SPDX-License-Identifier: Apache-2.0
#include "report/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/units.h"

namespace comity::report {
namespace {

constexpr double kGreatest = 1e300;  // keeps differences of two values finite

struct Unit {
  double seconds;
  const char* name;
};
constexpr std::array<Unit, 7> kUnits{
    {{1e-9, "ns"}, {1e-6, "µs"}, {1e-3, "ms"}, {1, "s"}, {60, "min"}, {3600, "h"}, {86400, "d"}}};

bool is_log(Scale scale) { return scale == Scale::kLog || scale == Scale::kLogTime; }

std::string grouped(std::string digits) {
  const std::size_t begin = digits.starts_with('-') ? 1 : 0;
  std::size_t at = std::min(digits.find('.'), digits.size());
  while (at > begin + 3) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

// The steps of a time axis from a second to four weeks.
constexpr std::array<double, 26> kTimeSteps{1,     2,      5,      10,     15,     30,      60,      120,    300,
                                            600,   900,    1800,   3600,   7200,   10800,   14400,   21600,  43200,
                                            86400, 172800, 432000, 604800, 864000, 1209600, 1728000, 2419200};

Unit unit_of(double step) {
  Unit unit = kUnits[0];
  for (const Unit& u : kUnits) {
    if (step >= u.seconds * (1 - 1e-9)) {
      unit = u;
    }
  }
  return unit;
}

double time_step(double range, std::size_t most) {
  const double least = range / static_cast<double>(std::max<std::size_t>(most, 1));
  if (least <= 0.5) {
    return round_step(range, most);
  }
  const auto* found = std::lower_bound(kTimeSteps.begin(), kTimeSteps.end(), least * (1 - 1e-9));
  return found != kTimeSteps.end() ? *found : round_step(range / 86400, most) * 86400;
}

void widen_empty(PlannedAxis& plan) {
  const double size = std::max(std::fabs(plan.low), std::fabs(plan.high));
  if (plan.high - plan.low > size * 1e-11) {
    return;
  }
  if (is_log(plan.scale)) {
    plan.low /= 2;
    plan.high *= 2;
  } else if (size == 0) {
    plan.high = 1;
  } else {
    plan.low -= size / 2;
    plan.high += size / 2;
  }
}

void plan_linear(PlannedAxis& plan, const Axis& axis, std::size_t most, Ends ends) {
  const bool time = plan.scale == Scale::kTime;
  const auto step_for = [&](std::size_t ticks) {
    return time ? time_step(plan.high - plan.low, ticks) : round_step(plan.high - plan.low, ticks);
  };
  double step = step_for(most);
  for (std::size_t finer = most + 1; finer <= 2 * most; ++finer) {  // at least two multiples within
    if (std::floor(plan.high / step + 1e-9) - std::ceil(plan.low / step - 1e-9) >= 1) {
      break;
    }
    step = step_for(finer);
  }
  if (ends == Ends::kRound) {
    plan.low = std::isnan(axis.low) ? std::floor(plan.low / step + 1e-9) * step : plan.low;
    plan.high = std::isnan(axis.high) ? std::ceil(plan.high / step - 1e-9) * step : plan.high;
  }
  const Unit unit = time ? unit_of(step) : Unit{1, ""};
  const double greatest = std::max(std::fabs(plan.low), std::fabs(plan.high)) / unit.seconds;
  const double first = std::ceil(plan.low / step - 1e-9);
  for (std::size_t i = 0; i <= 2 * most + 2; ++i) {
    const double at = (first + static_cast<double>(i)) * step;
    if (at > plan.high + step * 1e-6) {
      break;
    }
    plan.ticks.push_back({at, number_label(at / unit.seconds, step / unit.seconds, greatest)});
  }
  const std::string& shown = time ? unit.name : axis.unit;
  plan.title = shown.empty() ? axis.title : axis.title + " (" + shown + ")";
}

std::string seconds_label(double seconds) {
  const Unit unit = unit_of(seconds);
  return fmt::format("{} {}", number_label(seconds / unit.seconds), unit.name);
}

// Values to name on a logarithmic axis, rising, from well below `low` to well above `high`.
std::vector<double> log_candidates(const PlannedAxis& plan, bool fine) {
  const bool time = plan.scale == Scale::kLogTime;
  std::vector<double> values;
  const auto decades = [&](double from, double to, double unit) {
    for (double k = from; k <= to; ++k) {
      for (const double m : {1.0, 2.0, 5.0}) {
        if (fine || m == 1) {
          values.push_back(m * std::pow(10, k) * unit);
        }
      }
    }
  };
  const double first = std::max(std::floor(std::log10(plan.low)) - 1, -305.0);
  const double last = std::min(std::ceil(std::log10(plan.high)) + 1, 300.0);
  if (!time) {
    decades(first, last, 1);
    return values;
  }
  decades(first, std::min(last, -1.0), 1);
  const std::vector<double> coarse{1, 10, 60, 600, 3600, 21600};
  const std::vector<double> all{1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 21600, 43200};
  const std::vector<double>& human = fine ? all : coarse;
  values.insert(values.end(), human.begin(), human.end());
  decades(0, std::max(last - 4, 1.0), 86400);
  return values;
}

void plan_log(PlannedAxis& plan, const Axis& axis, std::size_t most) {
  const std::vector<double> fine = log_candidates(plan, true);
  if (std::isnan(axis.low)) {
    const auto above = std::upper_bound(fine.begin(), fine.end(), plan.low * (1 + 1e-9));
    plan.low = above == fine.begin() ? plan.low : *std::prev(above);
  }
  if (std::isnan(axis.high)) {
    const auto above = std::lower_bound(fine.begin(), fine.end(), plan.high * (1 - 1e-9));
    plan.high = above == fine.end() ? plan.high : *above;
  }
  const auto within = [&](std::vector<double> values) {
    std::erase_if(values, [&](double v) { return v < plan.low * (1 - 1e-9) || v > plan.high * (1 + 1e-9); });
    return values;
  };
  std::vector<double> values = within(fine);
  if (values.size() > most) {
    std::vector<double> coarse = within(log_candidates(plan, false));
    if (coarse.size() >= 3) {
      values = std::move(coarse);
    }
  }
  const std::size_t every = values.size() / (most + 1) + 1;
  for (std::size_t i = 0; i < values.size(); i += every) {
    const bool time = plan.scale == Scale::kLogTime;
    plan.ticks.push_back({values[i], time ? seconds_label(values[i]) : number_label(values[i])});
  }
  const bool with_unit = plan.scale == Scale::kLog && !axis.unit.empty();
  plan.title = with_unit ? axis.title + " (" + axis.unit + ")" : axis.title;
}

}  // namespace

bool can_show(double v, Scale scale) { return std::isfinite(v) && (v > 0 || !is_log(scale)); }

void Extent::add(double v, Scale scale) {
  if (can_show(v, scale)) {
    const double bounded = std::clamp(v, -kGreatest, kGreatest);
    low = std::min(low, bounded);
    high = std::max(high, bounded);
  }
}

double PlannedAxis::place(double v) const {
  const double share = is_log(scale) ? std::log(v / low) / std::log(high / low) : (v - low) / (high - low);
  return std::clamp(share, -0.5, 1.5);
}

PlannedAxis plan_axis(const Axis& axis, Extent data, std::size_t most, Ends ends) {
  PlannedAxis plan;
  plan.scale = axis.scale;
  if (data.empty()) {
    data = is_log(axis.scale) ? Extent{1, 10} : Extent{0, 1};
  }
  const bool from_zero = axis.scale == Scale::kTime ? data.low < data.high / 10 : ends == Ends::kRound;
  if (!is_log(axis.scale) && from_zero && data.low > 0) {
    data.low = 0;
  }
  plan.low = can_show(axis.low, axis.scale) ? axis.low : data.low;
  plan.high = can_show(axis.high, axis.scale) ? axis.high : data.high;
  if (plan.high < plan.low) {  // a bound given beyond the data
    (can_show(axis.low, axis.scale) ? plan.high : plan.low) = can_show(axis.low, axis.scale) ? plan.low : plan.high;
  }
  widen_empty(plan);
  most = std::max<std::size_t>(most, 2);
  if (is_log(axis.scale)) {
    plan_log(plan, axis, most + most / 2 + 1);  // their labels are short
  } else {
    plan_linear(plan, axis, most, ends);
  }
  return plan;
}

double round_step(double range, std::size_t most) {
  const double least = range / static_cast<double>(std::max<std::size_t>(most, 1));
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double m : {1.0, 2.0, 5.0}) {
    if (m * power >= least * (1 - 1e-9)) {
      return m * power;
    }
  }
  return 10 * power;
}

std::string number_label(double v, double step, double greatest) {
  if (v == 0 || std::fabs(v) < step * 1e-6) {
    return "0";
  }
  if (greatest >= 1e15 || greatest < 1e-4) {
    const double digits = std::clamp(std::ceil(std::log10(greatest / step)) + 1, 1.0, 15.0);
    return fmt::format("{:.{}g}", v, static_cast<int>(digits));
  }
  double divisor = 1;
  const char* suffix = "";
  for (const auto& [power, name] : {std::pair{1e6, " M"}, std::pair{1e9, " G"}, std::pair{1e12, " T"}}) {
    if (greatest >= power) {
      divisor = power;
      suffix = name;
    }
  }
  const double digits = std::clamp(-std::floor(std::log10(step / divisor) + 1e-9), 0.0, 15.0);
  return grouped(fmt::format("{:.{}f}", v / divisor, static_cast<int>(digits))) + suffix;
}

std::string number_label(double v) {
  if (!std::isfinite(v)) {
    return std::isnan(v) ? "" : (v > 0 ? "∞" : "-∞");
  }
  const double size = std::fabs(v);
  if (size == 0 || size >= 1e15 || size < 1e-4) {
    return fmt::format("{:.4g}", v);
  }
  double divisor = size >= 1e12 ? 1e12 : size >= 1e9 ? 1e9 : size >= 1e6 ? 1e6 : 1;
  const char* suffix = size >= 1e12 ? " T" : size >= 1e9 ? " G" : size >= 1e6 ? " M" : "";
  const double whole = std::floor(std::log10(size / divisor)) + 1;
  const auto digits = static_cast<int>(std::clamp(4 - whole, 0.0, 8.0));
  std::string text = fmt::format("{:.{}f}", v / divisor, digits);
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) {
      text.pop_back();
    }
  }
  return grouped(std::move(text)) + suffix;
}

}  // namespace comity::report
