// SPDX-License-Identifier: Apache-2.0
// An account in float64, written from the specification alone, for expected values: rules 5, 6 and
// 9 without rounding, so that figures computed in exact fractions can be met to 1e-9.
#pragma once

#include <cmath>
#include <vector>

#include "tool/eval/account.h"

namespace vixen::tool {

struct ExactMarket {
  double capital = 100'000;
  double reserve = 0.10;
  double spread = 0.0002;
  double cost_bps[9] = {1.0, 1.5, 2.0, 0.2, 0.3, 0.4, 0.8, 1.0, 1.2};
  double fill[9] = {1.0, 1.0, 1.0, 0.5, 0.75, 1.0, 0.9, 0.95, 1.0};
  double band = 0.05;
  double borrow_bps = 0;
};

inline std::vector<StepAccount> TradeExactly(const ExactMarket& market, std::vector<double> closes,
                                             std::vector<int> actions) {
  Account account(market.capital);
  std::vector<StepAccount> steps;
  for (size_t i = 0; i < actions.size(); ++i) {
    const double price = closes[i];
    const double level = actions[i] / 9 / 2.0 - 1;
    const int style = actions[i] % 9;
    const double rate = market.cost_bps[style] / 1e4 + market.spread / 2;
    double equity = account.equity();
    double position = account.position();
    double wanted = level * std::fmax(equity * (1 - market.reserve), 0) / price;
    const bool reversal = position * wanted < 0;
    if (reversal) {
      equity -= std::abs(position) * price * rate;
      wanted = level * std::fmax(equity * (1 - market.reserve), 0) / price;
      position = 0;
    }
    const double gap = wanted - position;
    const bool rests =
        level != 0 && !reversal && position != 0 && std::abs(gap) * price <= market.band * equity;
    if (!rests)
      position = level == 0 && market.fill[style] == 1 ? 0 : position + gap * market.fill[style];
    steps.push_back(account.Step(price, closes[i + 1], position, rate, market.borrow_bps / 1e4));
  }
  return steps;
}

// Daily bars of the worked example of docs/evaluation.md; P = 252.
inline const std::vector<double> kExampleCloses = {100, 101, 103, 102, 98, 97, 99,
                                                   96,  97,  98,  95,  96, 99};
inline const std::vector<int> kExampleActions = {37, 37, 28, 28, 1, 1, 19, 19, 37, 37, 19, 37};
inline const std::vector<double> kExampleEquity = {
    100'877.5,       102'677.5,      102'217.2851993, 100'422.9211217,
    101'311.4883407, 99'467.1875738, 99'444.3643519,  99'444.3643519,
    100'344.6690391, 97'576.6300314, 97'554.7163892,  100'276.4929765};

}  // namespace vixen::tool
