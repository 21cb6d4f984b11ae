// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tool/report/axis.h"

namespace vixen::tool {

// A value with the range around it, one row of a chart.
struct Whisker {
  std::string name;
  std::string style;  // class of the style sheet, as in svg_chart.h
  double low = 0;
  double high = 0;
  std::optional<double> value;  // a dot; may lie outside the range
};

// Rows below each other over one horizontal axis with a line at 0, in a wide and a narrow picture
// of which the style sheet shows one. A note where there is no row. Well-formed XML.
std::string RenderWhiskers(const std::string& title, const std::vector<Whisker>& rows,
                           AxisFormat format);

}  // namespace vixen::tool
