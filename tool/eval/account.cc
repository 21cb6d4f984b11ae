// SPDX-License-Identifier: Apache-2.0
#include "tool/eval/account.h"

#include <cmath>

namespace vixen::tool {

double StepAccount::traded_notional() const {
  return (std::abs(fills[0].units) + std::abs(fills[1].units)) * price;
}

double StepAccount::exposure() const {
  return equity_before > 0 ? position * price / equity_before : 0;
}

Fill Account::Trade(double units, double price, double rate) {
  Fill fill{units, std::abs(units) * price * rate};
  cash_ -= units * price + fill.cost;
  position_ += units;
  return fill;
}

StepAccount Account::Step(double price, double next_close, double position, double rate,
                          double borrow_rate) {
  StepAccount step;
  step.price = price;
  step.next_close = next_close;
  step.equity_before = equity_;
  if (position_ * position < 0) {
    step.fills[step.fill_count++] = Trade(-position_, price, rate);
    position_ = 0;
  }
  if (position != position_) {
    step.fills[step.fill_count++] = Trade(position - position_, price, rate);
    position_ = position;
  }
  if (position_ < 0) {
    step.interest = -position_ * price * borrow_rate;
    cash_ -= step.interest;
  }
  equity_ = cash_ + position_ * next_close;
  step.position = position_;
  step.equity = equity_;
  return step;
}

std::vector<StepAccount> BuyAndHold(double capital, const std::vector<double>& closes,
                                    double rate) {
  Account account(capital);
  const double units = capital / (closes[0] * (1 + rate));
  std::vector<StepAccount> steps;
  steps.reserve(closes.size() - 1);
  for (size_t i = 0; i + 1 < closes.size(); ++i) {
    steps.push_back(account.Step(closes[i], closes[i + 1], units, rate, 0));
  }
  return steps;
}

std::vector<StepAccount> StayFlat(double capital, const std::vector<double>& closes) {
  Account account(capital);
  std::vector<StepAccount> steps;
  steps.reserve(closes.size() - 1);
  for (size_t i = 0; i + 1 < closes.size(); ++i) {
    steps.push_back(account.Step(closes[i], closes[i + 1], 0, 0, 0));
  }
  return steps;
}

}  // namespace vixen::tool
