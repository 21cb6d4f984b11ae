// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "tool/eval/evaluation.h"

namespace vixen::tool {

// The trades as CSV with a header, a line each: number, side, status (closed or open), fold, entry
// and exit (step; time in UTC as 2024-03-01T09:30:00Z; price), units opened and at the end, bars,
// resizes, costs, net profit, profit before costs. Numbers as short as they read back exactly. An
// open trade's exit is the last bar's mark.
std::string TradesCsv(const Evaluation& evaluation);

}  // namespace vixen::tool
