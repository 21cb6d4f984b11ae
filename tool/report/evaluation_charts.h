// SPDX-License-Identifier: Apache-2.0
// The charts of an evaluation. Each takes O(steps) time.
#pragma once

#include <optional>

#include "tool/eval/evaluation.h"
#include "tool/report/svg_chart.h"

namespace vixen::tool {

Chart EquityChart(const Evaluation& evaluation, bool logarithmic);
Chart DrawdownChart(const Evaluation& evaluation);
// With markers where trades open and close, while they can be told apart.
Chart PriceChart(const Evaluation& evaluation);
inline constexpr size_t kMostMarkedTrades = 120;
Chart ExposureChart(const Evaluation& evaluation);

// Without series when the evaluation is too short for a window.
Chart RollingSharpeChart(const Evaluation& evaluation);

// Returns of the steps with a position.
Chart ReturnDistributionChart(const Evaluation& evaluation);
// Net profits of closed trades.
Chart TradeDistributionChart(const Evaluation& evaluation);

}  // namespace vixen::tool
