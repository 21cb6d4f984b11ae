// SPDX-License-Identifier: Apache-2.0
// Charts as inline SVG. Colours come from the page's style sheet (report/style.h): every mark
// carries a class, so that one picture serves light and dark.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "tool/report/axis.h"

namespace vixen::tool {

enum class Mark {
  kLine,
  kArea,        // between the line and `base`
  kSignedArea,  // steps; above 0 class "long", below 0 class "short"
  kBand,        // between y and y2, both as long as x
  kBars,        // x is the middle of a bin; all bins are equally wide
  kUp,          // triangles below the point
  kDown,        // triangles above the point
  kCross,
};

struct ChartSeries {
  std::string name;   // in the legend; empty: not there
  std::string style;  // class of the style sheet: "policy", "hold", "flat", "price", "c1" … "c6"
  Mark mark = Mark::kLine;
  std::vector<double> x;
  std::vector<double> y;  // NaN breaks a line
  std::vector<double> y2 = {};
};

struct Chart {
  std::string title;  // spoken by screen readers; the visible heading is the page's
  std::string x_label;
  std::string y_label;
  AxisFormat x_format = AxisFormat::kTime;
  AxisFormat y_format = AxisFormat::kNumber;
  bool y_log = false;      // ignored unless all values are > 0
  bool zero_line = false;  // includes 0 and draws it
  int height = 300;
  std::vector<ChartSeries> series;
};

// At most about `limit` points of a curve, in order: the first, the last, and the lowest and
// highest of each of limit/2 equal pieces, so that no extreme is lost.
std::vector<size_t> Downsample(const std::vector<double>& y, size_t limit);

// One picture of `width` units; curves hold at most `points` points. A note stands in for a chart
// without a finite point. Well-formed XML.
std::string RenderChart(const Chart& chart, int width, size_t points);

// Two pictures, of which the style sheet shows the one that fits the screen. `half`: two charts
// beside each other on a wide one.
std::string RenderResponsive(const Chart& chart, bool half = false);

}  // namespace vixen::tool
