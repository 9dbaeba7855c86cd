// SPDX-License-Identifier: Apache-2.0
// The style sheet of a report page: system fonts, two themes, tabular numerals, and the colours of the charts.
#pragma once

#include <string_view>

namespace comity::report {

extern const std::string_view kStyle;

}  // namespace comity::report
