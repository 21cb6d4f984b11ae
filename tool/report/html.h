// SPDX-License-Identifier: Apache-2.0
// Small pieces of HTML. All text is escaped here, so that nothing from a file reaches the page as
// it is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tool/eval/metrics.h"

namespace vixen::tool {

struct Cell {
  std::string text;
  std::string style = "";  // class: "text", "none", "gain", "loss"
  std::string title = "";  // shown on hover
  double bar = -1;         // ≥ 0: a bar of this share of the cell instead of text
};

class Table {
 public:
  explicit Table(std::vector<Cell> header, std::string style = "")
      : header_(std::move(header)), style_(std::move(style)) {}
  void Row(std::vector<Cell> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  // In a box that scrolls sideways where the screen is narrow.
  std::string Html() const;

 private:
  std::vector<Cell> header_;
  std::string style_;
  std::vector<std::vector<Cell>> rows_;
};

std::string Element(std::string_view tag, std::string_view text, std::string_view style = "");
Cell MetricCell(const MetricSpec& spec, const Metric& metric);

}  // namespace vixen::tool
