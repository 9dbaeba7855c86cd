// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "plan/spot.h"

namespace comity::plan {
namespace {

double real(std::int64_t v) { return static_cast<double>(v); }

// "3 x g4 spot, 1 x c5 on demand"
std::string machines(const SpotQuestion& q, const SpotChoice& c) {
  std::string out;
  const auto add = [&](std::int64_t n, const std::string& name, const char* how) {
    if (n > 0) out += fmt::format("{}{} x {} {}", out.empty() ? "" : ", ", n, name, how);
  };
  for (std::size_t i = 0; i < q.instances.size(); ++i) add(c.spot[i], q.instances[i].name, "spot");
  for (std::size_t i = 0; i < q.instances.size(); ++i) add(c.on_demand[i], q.instances[i].name, "on demand");
  return out;
}

Fields choice_fields(const SpotQuestion& q, const SpotChoice& c) {
  return {words("architecture", architecture_name(c.architecture)),
          words("machines", machines(q, c)),
          number("tflops", "TFLOP/s", c.tflops),
          number("price_per_h", "1/h", c.price_per_h),
          number("plain_h", "h", c.plain_h),
          number("expected_h", "h", c.expected_h),
          number("expected_cost", "", c.expected_cost),
          number("checkpoint_interval_s", "s", c.interval_s),
          number("checkpoint_write_s", "s", c.interruptions.write_s),
          number("revocations_per_h", "1/h", c.interruptions.rate_per_s * 3600)};
}

}  // namespace

Fields fields(const SpotQuestion& question, const SpotPlan& plan) {
  Fields out = choice_fields(question, plan.best);
  out.push_back(number("saving", "", plan.saving));
  out.push_back(words("exact", plan.exact ? "yes" : "no"));
  out.push_back(number("evaluated", "", static_cast<double>(plan.evaluated)));
  return out;
}

FieldRows architecture_rows(const SpotQuestion& question, const SpotPlan& plan) {
  FieldRows out;
  for (const SpotChoice& c : plan.by_architecture) out.push_back(choice_fields(question, c));
  return out;
}

FieldRows instance_rows(const SpotQuestion& question, const SpotPlan& plan) {
  FieldRows out;
  for (const std::size_t i : plan.by_flopp) {
    const Instance& one = question.instances[i];
    out.push_back({words("name", one.name), words("gpu", one.gpu), number("gpus", "", real(one.gpus)),
                   number("tflops", "TFLOP/s", one.tflops), number("on_demand", "1/h", one.on_demand),
                   number("spot", "1/h", one.spot), number("flopp_on_demand", "TFLOP/s per price", flopp(one, false)),
                   number("flopp_spot", "TFLOP/s per price", one.spot > 0 ? flopp(one, true) : 0),
                   number("nic_gb_s", "GB/s", one.nic_gb_s), number("revocations", "1/h", one.revocations),
                   number("chosen", "", real(plan.best.spot[i] + plan.best.on_demand[i]))});
  }
  return out;
}

std::string explain(const SpotQuestion& question, const SpotPlan& plan) {
  const SpotChoice& b = plan.best;
  std::string out =
      fmt::format("{}: {}. Expected {:.1f} h (without interruptions {:.1f}) and {:.2f}.",
                  architecture_name(b.architecture), machines(question, b), b.expected_h, b.plain_h, b.expected_cost);
  if (b.interruptions.rate_per_s > 0)
    out += fmt::format(
        "\nA machine is taken away every {:.1f} h; checkpoints every {:.0f} s take {:.1f} s, Young's interval is "
        "{:.0f} "
        "s, Daly's {:.0f} s.",
        1 / (b.interruptions.rate_per_s * 3600), b.interval_s, b.interruptions.write_s,
        young_interval_s(b.interruptions), daly_interval_s(b.interruptions));
  for (const SpotChoice& c : plan.by_architecture)
    if (c.architecture != b.architecture)
      out += fmt::format("\n{}: {}, {:.1f} h, {:.2f}.", architecture_name(c.architecture), machines(question, c),
                         c.expected_h, c.expected_cost);
  if (!plan.exact) out += "\nThe search was cut short: a better choice may exist.";
  if (plan.saving > 0) out += fmt::format("\n{:.0f} % cheaper than the best on demand.", 100 * plan.saving);
  return out;
}

}  // namespace comity::plan
