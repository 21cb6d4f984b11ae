// SPDX-License-Identifier: Apache-2.0
#include "tool/eval/trades.h"

namespace vixen::tool {

std::vector<Trade> TradesOf(std::span<const StepAccount> steps, std::span<const int64_t> times,
                            uint64_t first_step) {
  std::vector<Trade> trades;
  Trade trade;
  double position = 0;
  double cash = 0;  // of the trade: what its fills paid and took in, net of costs
  for (size_t i = 0; i < steps.size(); ++i) {
    const StepAccount& step = steps[i];
    for (int f = 0; f < step.fill_count; ++f) {
      const Fill& fill = step.fills[f];
      const bool closes = position != 0 && (step.position == 0 || f + 1 < step.fill_count);
      if (position == 0) {
        trade = Trade{.entry_step = first_step + i,
                      .entry_time = times[i],
                      .units = fill.units,
                      .entry_price = step.price};
        cash = 0;
      } else if (!closes) {
        ++trade.resizes;
      }
      cash -= fill.units * step.price + fill.cost;
      trade.costs += fill.cost;
      if (closes) {
        trade.last_units = position;
        trade.exit_step = first_step + i;
        trade.exit_time = times[i];
        trade.exit_price = step.price;
        trade.profit = cash;
        trades.push_back(trade);
        position = 0;
      } else {
        position += fill.units;
      }
    }
    position = step.position;
    if (position != 0) {
      ++trade.bars;
      cash -= step.interest;
      trade.costs += step.interest;
    }
  }
  if (position != 0) {
    trade.open = true;
    trade.last_units = position;
    trade.exit_step = first_step + steps.size() - 1;
    trade.exit_time = times[steps.size()];
    trade.exit_price = steps.back().next_close;
    trade.profit = cash + position * trade.exit_price;
    trades.push_back(trade);
  }
  return trades;
}

}  // namespace vixen::tool
