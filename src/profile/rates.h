// SPDX-License-Identifier: Apache-2.0
// How fast models train on GPUs of several types: steps a second by model and batch size, type, number of GPUs, and
// whether these are on one node (packed) or on several (spread). A TOML file:
//
//   schema = "comity.rates/1"
//   source = "where the numbers come from"
//   reference = "v100"         # the type at whose rate run times of traces are
//   [[rates]]
//   model = "ResNet-18"
//   batch_size = 16            # absent = whatever its batch size
//   gpus = [1, 2, 4, 8]        # rising; the columns of what follows
//   packed.v100 = [32.35, 100.1, 123.9, 382.6]
//   spread.v100 = [32.35, 35.34, 60.01, 90.2]   # absent = as packed
//   packed.k80 = [4.795, 8.758, 14.71, 0]       # 0 = does not run
//
// Names of types are compared without regard to case. Not thread-safe while it is read, freely shared afterwards.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"

namespace comity::profile {

class Rates {
 public:
  static constexpr std::uint32_t kNone = 0xffffffffU;
  static constexpr std::size_t kMostKinds = 10'000;
  static constexpr std::size_t kMostTypes = 64;
  static constexpr std::size_t kMostCounts = 64;
  static constexpr double kMostRate = 1e9;
  // What another number of GPUs brings where nothing is measured: rate x (gpus / measured gpus) ^ kScaling.
  static constexpr double kScaling = 0.9;

  // A kind of work: the row of this model and batch size, else of the model whatever its batch size. kNone: no row.
  [[nodiscard]] std::uint32_t kind(std::string_view model, std::int64_t batch_size) const;
  [[nodiscard]] std::uint32_t type(std::string_view name) const;  // kNone: in no row
  [[nodiscard]] std::uint32_t reference() const { return reference_; }

  // Steps a second; 0 = does not run there, -1 = no row of this kind has the type. Between two measured numbers of GPUs
  // the logarithm of the rate is linear in that of the number (0 where either doesn't run); beyond the last, and below
  // the first, it goes with the power kScaling.
  [[nodiscard]] double rate(std::uint32_t kind, std::uint32_t type, std::uint32_t gpus, std::uint32_t nodes) const;
  // Whether speed() follows the table: it has the kind on this type, and a rate on the reference type.
  [[nodiscard]] bool known(std::uint32_t kind, std::uint32_t type, std::uint32_t asked) const;
  // Progress a second of a job that asked for `asked` GPUs, on `gpus` of a type on so many nodes; 1 = as on the GPUs
  // that it asked for, of the reference type, packed. 0 = does not run. Not known: (gpus / asked) ^ kScaling on any
  // type.
  [[nodiscard]] double speed(std::uint32_t kind, std::uint32_t type, std::uint32_t asked, std::uint32_t gpus,
                             std::uint32_t nodes) const;
  // The same for a job that was put there all the same: where it does not run, the rate of one GPU of the type x
  // gpus ^ kScaling; never 0.
  [[nodiscard]] double speed_in_any_case(std::uint32_t kind, std::uint32_t type, std::uint32_t asked,
                                         std::uint32_t gpus, std::uint32_t nodes) const;

  [[nodiscard]] std::size_t kinds() const { return kinds_.size(); }
  [[nodiscard]] const std::vector<std::string>& types() const { return types_; }
  [[nodiscard]] const std::string& source() const { return source_; }

 private:
  friend class RatesReader;
  struct Curve {
    std::vector<double> packed, spread;  // by count; empty = not given
  };
  struct Kind {
    std::vector<std::uint32_t> gpus;
    std::vector<Curve> curves;  // by type
  };
  std::unordered_map<std::string, std::uint32_t> index_;  // model, batch size -> kind
  std::vector<Kind> kinds_;
  std::vector<std::string> types_;  // lower case
  std::uint32_t reference_ = kNone;
  std::string source_;
};

// Errors (kInput) name file, line and field. O(bytes).
[[nodiscard]] Result<Rates> parse_rates(std::string_view text, const std::string& file);
[[nodiscard]] Result<Rates> read_rates(const std::string& path);
// data/throughput/gavel.toml, as it stands in the program.
[[nodiscard]] const Rates& library_rates();

}  // namespace comity::profile
