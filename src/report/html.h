// SPDX-License-Identifier: Apache-2.0
// A report page in one file: no script to run, nothing fetched from anywhere, light and dark by the reader's own
// setting, readable on a telephone and on paper. Built from top to bottom; the same calls give the same bytes (there is
// no date in it). All text is escaped here: callers pass plain text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/table.h"

namespace comity::report {

// Text for HTML and XML content and attributes: & < > " ' as references; control characters and invalid UTF-8 as
// U+FFFD.
[[nodiscard]] std::string escape(std::string_view text);

class Page {
 public:
  explicit Page(std::string title, std::string subtitle = {});

  // A new section with an entry in the list of contents (shown when there are more than two).
  Page& section(std::string_view heading);
  Page& heading(std::string_view text);  // a smaller one within a section
  Page& paragraph(std::string_view text);
  Page& note(std::string_view text);  // set apart: an assumption, a warning
  Page& bullets(const std::vector<std::string>& items);
  // Headline numbers as tiles: {label, value}.
  Page& figures(const std::vector<std::pair<std::string, std::string>>& items);
  // Numbers to the right, the best of a column marked; scrolls sideways where the screen is narrow.
  Page& table(const Table& table, std::string_view caption = {});
  // What draw() returned. Two charts in a row stand side by side on a wide screen when both are `half`.
  Page& chart(std::string_view svg, bool half = false);
  // Preformatted text (a configuration, a command line).
  Page& code(std::string_view text);
  // The numbers behind the page as <script type="application/json" id="data">. At most once.
  Page& data(std::string_view json);

  [[nodiscard]] std::string html() const;
  [[nodiscard]] Status write(const std::string& path) const;

 private:
  void close_row();

  std::string title_;
  std::string subtitle_;
  std::string body_;
  std::string data_;
  std::vector<std::string> sections_;
  bool in_row_ = false;
};

}  // namespace comity::report
