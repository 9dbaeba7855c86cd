// SPDX-License-Identifier: Apache-2.0
// A table for the terminal, and the same rows as CSV. Numbers are aligned to the right; the best of a column may be
// marked (with colour on a terminal, and always with '*').
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace comity {

class Table {
 public:
  enum class Best { kNone, kLowest, kHighest };
  struct Column {
    std::string title;
    bool right = true;
    Best best = Best::kNone;
  };
  struct Cell {
    std::string text;
    double value = std::numeric_limits<double>::quiet_NaN();  // what Best compares; NaN = never best
  };

  explicit Table(std::vector<Column> columns);
  void add_row(std::vector<Cell> cells);  // as many as columns
  [[nodiscard]] std::string text(bool colour) const;
  [[nodiscard]] std::string csv() const;
  // Row indices that are best in `column` (ties included).
  [[nodiscard]] std::vector<std::size_t> best_rows(std::size_t column) const;
  [[nodiscard]] const std::vector<Column>& columns() const { return columns_; }
  [[nodiscard]] const std::vector<std::vector<Cell>>& rows() const { return rows_; }

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace comity
