// SPDX-License-Identifier: Apache-2.0
#include "trace/synth_lublin.h"

#include <algorithm>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "base/limits.h"
#include "base/log.h"
#include "base/rng.h"

namespace comity::trace {
namespace {

constexpr std::size_t kBuckets = 48;
constexpr int kDayStart = 11;  // half hours
constexpr double kBucketSeconds = 1800;
constexpr double kPublishedUhi = 7;  // log2 of the 128 processors that the constants are for
constexpr std::uint64_t kMostJobs = 100'000'000;

struct Constant {
  const char* name;
  std::array<double, 3> value;  // batch, interactive, all
  double low, high;
  const char* doc;
};
constexpr std::array<const char*, 3> kClasses = {"batch", "interactive", "all"};
constexpr std::array<Constant, 17> kConstants = {
    {{"serial_prob", {0.2927, 0.1541, 0.244}, 0, 1, "share of jobs on one processor"},
     {"pow2_prob", {0.6686, 0.625, 0.576}, 0, 1, "share of jobs on 2, 4, 8 ... processors by choice"},
     {"ulow", {1.2, 1, 0.8}, 0, 20, "log2 of the smallest parallel job"},
     {"umed", {5, 3, 4.5}, 0, 20, "log2 of the size where the density changes"},
     {"uhi", {7, 5.5, 7}, 0, 20, "log2 of the largest job"},
     {"uprob", {0.875, 0.705, 0.86}, 0, 1, "share of parallel jobs below umed"},
     {"a1", {6.57, 3.8351, 4.2}, 0.01, 1e5, "shape of the first Gamma of log run times"},
     {"b1", {0.823, 0.6605, 0.94}, 1e-5, 100, "scale of the first Gamma of log run times"},
     {"a2", {639.1, 7.073, 312}, 0.01, 1e5, "shape of the second Gamma of log run times"},
     {"b2", {0.0156, 0.6856, 0.03}, 1e-5, 100, "scale of the second Gamma of log run times"},
     {"pa", {-0.003, -0.0118, -0.0054}, -1, 1, "change of the first Gamma's probability with each processor"},
     {"pb", {0.6986, 0.9156, 0.78}, -1, 2, "the first Gamma's probability at size 0"},
     {"aarr", {6.0415, 6.551, 10.2303}, 0.01, 1e5, "shape of the Gamma of log gaps in the rush hours"},
     {"barr", {0.8531, 0.6621, 0.4871}, 1e-5, 100, "scale of the Gamma of log gaps"},
     {"anum", {6.1271, 8.9186, 8.1737}, 0.1, 1e4, "shape of the Gamma of arrivals over the day's half hours"},
     {"bnum", {5.274, 3.668, 3.9631}, 0.05, 1e3, "scale of the Gamma of arrivals over the day's half hours"},
     {"arar", {1.0519, 0.9797, 1.0225}, 0.01, 100, "aarr of the whole day over aarr of the rush hours"}}};

// The parameters of one class, and the draws from them.
class JobClass {
 public:
  static Result<JobClass> make(const Params& params, const std::string& name, const LublinOptions& options,
                               std::uint64_t stream);

  [[nodiscard]] double next_arrival() const { return at_s_; }
  void draw_next_arrival();
  [[nodiscard]] std::uint32_t draw_size();
  [[nodiscard]] Time draw_run(std::uint32_t size);
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  JobClass(std::uint64_t seed, std::uint64_t stream) : arrivals_(seed, 2 * stream), jobs_(seed, 2 * stream + 1) {}
  [[nodiscard]] Status check() const;
  void fit_sizes(const Params& params, std::uint64_t gpus);

  std::string name_;
  Rng arrivals_;
  Rng jobs_;
  double serial_prob_ = 0, pow2_prob_ = 0, ulow_ = 0, umed_ = 0, uhi_ = 0, uprob_ = 0;
  double a1_ = 0, b1_ = 0, a2_ = 0, b2_ = 0, pa_ = 0, pb_ = 0;
  double aarr_ = 0, barr_ = 0;
  double too_much_time_ = 0, too_much_arrive_time_ = 0;
  double machine_ = 0;
  std::array<double, kBuckets> day_{};
  std::uint64_t bucket_ = 0;  // half hours since the first midnight
  double points_ = 0;         // spent of day_[bucket_]
  double at_s_ = 0;
};

// Marsaglia and Tsang, "A simple method for generating gamma variables", 2000; shapes below 1 by their boost. A time is
// rounded to whole seconds in the end, so a last bit that differs between maths libraries does not show.
double draw_gamma(Rng& rng, double shape, double scale) {
  if (shape < 1) return draw_gamma(rng, shape + 1, scale) * std::exp(-rng.exponential(1) / shape);
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = rng.normal(0, 1);
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (-rng.exponential(1) < x * x / 2 + d * (1 - v + std::log(v))) return scale * d * v;
  }
}

// Drawn again while above `most`; check() has made sure that the mean isn't.
double draw_gamma_below(Rng& rng, double shape, double scale, double most) {
  for (;;) {
    const double x = draw_gamma(rng, shape, scale);
    if (x <= most) return x;
  }
}

Result<JobClass> JobClass::make(const Params& params, const std::string& name, const LublinOptions& options,
                                std::uint64_t stream) {
  const auto real = [&](const char* key) { return params.real(name + "." + key); };
  JobClass c(options.seed, stream);
  c.name_ = name;
  c.serial_prob_ = real("serial_prob");
  c.pow2_prob_ = real("pow2_prob");
  c.ulow_ = real("ulow");
  c.umed_ = real("umed");
  c.uhi_ = real("uhi");
  c.uprob_ = real("uprob");
  c.a1_ = real("a1");
  c.b1_ = real("b1");
  c.a2_ = real("a2");
  c.b2_ = real("b2");
  c.pa_ = real("pa");
  c.pb_ = real("pb");
  c.aarr_ = real("aarr") * real("arar");
  c.barr_ = real("barr");
  c.too_much_time_ = params.real("model.too_much_time");
  c.too_much_arrive_time_ = params.real("model.too_much_arrive_time");
  c.fit_sizes(params, options.gpus);
  if (Status status = c.check(); !status) return fail(std::move(status.error()));
  c.day_ = lublin_day(real("anum"), real("bnum"));
  c.draw_next_arrival();
  return c;
}

void JobClass::fit_sizes(const Params& params, std::uint64_t gpus) {
  machine_ = static_cast<double>(gpus);
  const double shift = std::log2(machine_) - kPublishedUhi;
  if (params.origin(name_ + ".uhi") == "default") uhi_ = std::max(uhi_ + shift, ulow_);
  if (params.origin(name_ + ".umed") != "default") return;
  umed_ += shift;
  if (umed_ < ulow_ || umed_ > uhi_) umed_ = (ulow_ + uhi_) / 2;
}

Status JobClass::check() const {
  const auto refuse = [&](const char* key, std::string message) -> Status {
    return fail_option(name_ + "." + key, std::move(message), "see comity trace synth lublin --parameters");
  };
  if (serial_prob_ + pow2_prob_ > 1) return refuse("pow2_prob", "serial_prob and pow2_prob are more than 1 together");
  if (ulow_ > uhi_) return refuse("uhi", fmt::format("must be at least ulow, {}", ulow_));
  if (umed_ < ulow_ || umed_ > uhi_)
    return refuse("umed", fmt::format("must be within ulow and uhi, {} and {}", ulow_, uhi_));
  if (a1_ * b1_ > too_much_time_) return refuse("a1", "a1 b1, the mean of log run times, is above too_much_time");
  if (a2_ * b2_ > too_much_time_) return refuse("a2", "a2 b2, the mean of log run times, is above too_much_time");
  if (aarr_ * barr_ > too_much_arrive_time_)
    return refuse("aarr", "aarr arar barr, the mean of log gaps, is above too_much_arrive_time");
  return {};
}

void JobClass::draw_next_arrival() {
  points_ += std::exp(draw_gamma_below(arrivals_, aarr_, barr_, too_much_arrive_time_)) / kBucketSeconds;
  while (points_ > day_[bucket_ % kBuckets]) {
    points_ -= day_[bucket_ % kBuckets];
    ++bucket_;
  }
  const double weight = day_[bucket_ % kBuckets];
  at_s_ = kBucketSeconds * (static_cast<double>(bucket_) + (weight > 0 ? points_ / weight : 0));
}

std::uint32_t JobClass::draw_size() {
  const double u = jobs_.uniform();
  if (u < serial_prob_) return 1;
  const bool lower = jobs_.uniform() < uprob_;
  const double x = lower ? jobs_.uniform(ulow_, umed_) : jobs_.uniform(umed_, uhi_);
  double size = 0;
  if (u < serial_prob_ + pow2_prob_) {
    size = std::ldexp(1, static_cast<int>(x + 0.5));
    while (size > machine_) size /= 2;
  } else {
    size = std::min(machine_, std::floor(std::exp2(x) + 0.5));
  }
  return static_cast<std::uint32_t>(std::clamp(size, 1.0, static_cast<double>(limits::kGpusPerJob)));
}

Time JobClass::draw_run(std::uint32_t size) {
  const double p = std::clamp(pa_ * size + pb_, 0.0, 1.0);
  for (;;) {
    const bool first = jobs_.uniform() < p;
    const double y = first ? draw_gamma(jobs_, a1_, b1_) : draw_gamma(jobs_, a2_, b2_);
    if (y <= too_much_time_) return static_cast<Time>(std::exp(y)) * kSecond;
  }
}

Result<std::vector<JobClass>> make_classes(const LublinOptions& o) {
  std::vector<std::size_t> wanted;
  switch (o.which) {
    case LublinJobs::kMixed: wanted = {0, 1}; break;
    case LublinJobs::kBatch: wanted = {0}; break;
    case LublinJobs::kInteractive: wanted = {1}; break;
    case LublinJobs::kAll: wanted = {2}; break;
  }
  std::vector<JobClass> classes;
  for (const std::size_t i : wanted) {
    Result<JobClass> made = JobClass::make(o.params, kClasses[i], o, i);
    if (!made) return fail(std::move(made.error()));
    classes.push_back(std::move(*made));
  }
  return classes;
}

}  // namespace

std::vector<Param> lublin_params() {
  std::vector<Param> params;
  const auto add = [&](std::string name, double value, double low, double high, std::string doc) {
    params.push_back({.name = std::move(name),
                      .type = Param::Type::kReal,
                      .unit = {},
                      .fallback = fmt::format("{}", value),
                      .low = low,
                      .high = high,
                      .choices = {},
                      .doc = std::move(doc)});
  };
  for (std::size_t c = 0; c < kClasses.size(); ++c) {
    for (const Constant& constant : kConstants)
      add(fmt::format("{}.{}", kClasses[c], constant.name), constant.value[c], constant.low, constant.high,
          constant.doc);
  }
  add("model.too_much_time", 12, 0.1, 18, "largest logarithm of a run time in seconds");
  add("model.too_much_arrive_time", 13, 0.1, 18, "largest logarithm of a gap in seconds");
  return params;
}

// The integral of x^(anum-1) exp(-x/bnum) over each half hour by Simpson's rule; the constant of the density falls out
// of the shares. Logarithms relative to the greatest value keep the powers in range.
std::array<double, 48> lublin_day(double anum, double bnum) {
  constexpr int kSteps = 128;  // a half hour, even
  const double mode = std::clamp((anum - 1) * bnum, kDayStart - 0.5, kDayStart + kBuckets - 0.5);
  const auto density = [&](double x) { return std::exp((anum - 1) * std::log(x / mode) - (x - mode) / bnum); };
  std::array<double, 48> day{};
  double sum = 0;
  for (std::size_t i = kDayStart; i < kDayStart + kBuckets; ++i) {
    const double from = static_cast<double>(i) - 0.5;
    double integral = density(from) + density(from + 1);
    for (int k = 1; k < kSteps; ++k) integral += (k % 2 == 1 ? 4 : 2) * density(from + static_cast<double>(k) / kSteps);
    day[(i - 1) % kBuckets] = integral;  // half hours of the source count from 1
    sum += integral;
  }
  for (double& w : day) w *= static_cast<double>(kBuckets) / sum;
  return day;
}

Result<Trace> synth_lublin(const LublinOptions& o) {
  if (o.jobs < 1 || o.jobs > kMostJobs) return fail_option("--jobs", "must be within 1 and 100 million");
  if (o.gpus < 1 || o.gpus > static_cast<std::uint64_t>(limits::kGpusPerJob))
    return fail_option("--gpus", "must be within 1 and a million");
  Result<std::vector<JobClass>> classes = make_classes(o);
  if (!classes) return fail(std::move(classes.error()));
  Trace trace;
  trace.path = "synthetic trace of the Lublin-Feitelson model";
  trace.format = "synth_lublin";
  trace.declared_gpus = o.gpus;
  trace.rows.reserve(o.jobs);
  while (trace.rows.size() < o.jobs) {
    JobClass& next = *std::min_element(classes->begin(), classes->end(), [](const JobClass& a, const JobClass& b) {
      return a.next_arrival() < b.next_arrival();
    });
    if (trace.rows.size() % 4096 == 0 && interrupted())
      return fail(Code::kInterrupted, "interrupted while drawing jobs");
    if (next.next_arrival() >= to_seconds(kMaxTime))
      return fail_option("--jobs", "so many jobs would take more than 73 years", "fewer --jobs, or a smaller aarr");
    Row row;
    row.submit = static_cast<Time>(next.next_arrival()) * kSecond;
    row.request.shape.gpus = next.draw_size();
    row.duration = next.draw_run(row.request.shape.gpus);
    row.id = static_cast<std::int64_t>(trace.rows.size());
    if (o.which != LublinJobs::kAll) row.request.tenant = trace.names.intern(next.name());
    trace.rows.push_back(row);
    next.draw_next_arrival();
  }
  return trace;
}

}  // namespace comity::trace
