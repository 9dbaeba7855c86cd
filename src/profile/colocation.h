// SPDX-License-Identifier: Apache-2.0
// What is known of models that share a GPU: how fast each of a pair runs beside the other, and how much a model alone
// asks of a GPU (its sharing score: 0 little, 1 some, 2 nearly all of it). Two CSV files, in the columns of Lucid's
// measurements (ASPLOS'23; colocate_info.csv and single_data.csv of S-Lab-System-Group/Lucid):
//   pairs   model1, dataset1, batchsize1, amp1, speed1, model2, dataset2, batchsize2, amp2, speed2; others are left out
//   scores  model, dataset, batchsize, amp, label; others are left out
// A speed is relative to the model alone on its GPU. Not thread-safe while it is read into, freely shared afterwards.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/input.h"
#include "base/result.h"

namespace comity::profile {

// The speeds of a pair.
struct PairSpeeds {
  double first = 1;
  double second = 1;
  friend bool operator==(const PairSpeeds&, const PairSpeeds&) = default;
};

class Colocation {
 public:
  static constexpr std::uint32_t kNone = 0xffffffffU;
  static constexpr std::size_t kMostKinds = 100'000;
  static constexpr std::size_t kMostPairs = 1'000'000;
  static constexpr double kMostSpeed = 100;

  // Add the rows of a file. Errors (kInput) name file, line and column: a missing column, a number that is none or out
  // of bounds (0 < speed <= 100, score 0 to 2, batch size >= 0, amp 0 or 1), a pair or kind given twice.
  // O(bytes); about 200 bytes a kind, 40 a pair.
  [[nodiscard]] Status read_pairs(LineReader& reader);
  [[nodiscard]] Status read_scores(LineReader& reader);

  // A kind of work: model, data set, batch size, mixed precision (0, 1; -1 = not known). kNone: in neither file.
  [[nodiscard]] std::uint32_t find(std::string_view model, std::string_view dataset, std::int64_t batch_size,
                                   int mixed_precision) const;
  // 0 to 2; -1: not in the file.
  [[nodiscard]] int score(std::uint32_t kind) const { return scores_[kind]; }
  // False: not in the file. As the file gives the pair, else as it gives it the other way round. O(1).
  [[nodiscard]] bool speeds(std::uint32_t first, std::uint32_t second, PairSpeeds& out) const;

  [[nodiscard]] std::size_t kinds() const { return scores_.size(); }
  [[nodiscard]] std::size_t pairs() const { return pairs_.size(); }

 private:
  [[nodiscard]] static std::string key_of(std::string_view model, std::string_view dataset, std::int64_t batch_size,
                                          int mixed_precision);
  friend class ColocationReader;

  std::unordered_map<std::string, std::uint32_t> index_;
  std::vector<std::int8_t> scores_;  // by kind
  std::unordered_map<std::uint64_t, PairSpeeds> pairs_;
};

// Both files; an empty path = none.
[[nodiscard]] Result<Colocation> read_colocation(const std::string& pairs, const std::string& scores);

}  // namespace comity::profile
