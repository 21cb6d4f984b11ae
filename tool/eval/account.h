// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace vixen::tool {

// One change of the position at a price.
struct Fill {
  double units = 0;  // signed
  double cost = 0;   // fee and half the spread; negative is a rebate
};

// The books of one step: traded at `price`, marked at `next_close`. Money in account currency.
struct StepAccount {
  double price = 0;
  double next_close = 0;
  double equity_before = 0;     // E_{i−1}
  double equity = 0;            // E_i, at next_close
  double position = 0;          // units after the trade, signed
  std::array<Fill, 2> fills{};  // a reversal has two: the close, then the opening
  int fill_count = 0;
  double interest = 0;  // for borrowing, this bar

  double costs() const { return fills[0].cost + fills[1].cost + interest; }
  double traded_notional() const;
  // Signed share of E_{i−1} that is invested; 0 when E_{i−1} ≤ 0.
  double exposure() const;
};

// The account of one part of an evaluation in float64. The positions are those that the kernel took
// (in float32); money follows from them exactly, so that trades, costs and equity agree to the last
// cent over any number of steps.
class Account {
 public:
  explicit Account(double capital) : cash_(capital), equity_(capital) {}

  // `rate` is the cost of a traded unit of money, `borrow_rate` that of a borrowed one for a bar.
  StepAccount Step(double price, double next_close, double position, double rate,
                   double borrow_rate);

  double equity() const { return equity_; }
  double cash() const { return cash_; }
  double position() const { return position_; }

 private:
  Fill Trade(double units, double price, double rate);

  double cash_;
  double equity_;
  double position_ = 0;
};

// Buys with all of `capital` at `closes[0]` at a cost of `rate` and holds to the last close: one
// step for each later close. REQUIRES: closes has ≥ 2 entries.
std::vector<StepAccount> BuyAndHold(double capital, const std::vector<double>& closes, double rate);

// Never trades.
std::vector<StepAccount> StayFlat(double capital, const std::vector<double>& closes);

}  // namespace vixen::tool
