// SPDX-License-Identifier: Apache-2.0
// Cash, position, entry price and their features (rules 2, 6 and 9 of docs/environment.md).
// float32. `Slot`: SlotState or SlotRegisters.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/env/host_device.h"
#include "kernels/env/rules.h"

namespace vixen::kernels {

template <typename Slot>
VIXEN_HOST_DEVICE float EquityAt(const Slot& slot, float price) {
  return slot.cash + slot.position * price;
}

// position·price over equity, within ±10; the divisor has a floor of 1 % of the initial capital.
VIXEN_HOST_DEVICE float Exposure(const Rules& rules, float position, float price, float equity) {
  if (position == 0.0f) return 0.0f;  // the division of a zero takes a GPU's slow path
  const float exposure = position * price / fmaxf(equity, rules.least_exposure_equity);
  return fminf(fmaxf(exposure, -10.0f), 10.0f);
}

// Relative gain of the open position, 0 when flat.
VIXEN_HOST_DEVICE float Unrealised(float position, float entry, float price) {
  if (position == 0.0f) return 0.0f;
  const float gain = (price - entry) / entry;
  return position > 0.0f ? gain : -gain;
}

// The three portfolio features of a state: equity / initial capital, exposure, unrealised.
template <typename Slot>
VIXEN_HOST_DEVICE void ObservePortfolio(const Rules& rules, const Slot& slot, float price,
                                        float features[kPortfolioFeatures]) {
  const float equity = EquityAt(slot, price);
  features[0] = equity / rules.settings.initial_capital;
  features[1] = Exposure(rules, slot.position, price, equity);
  features[2] = Unrealised(slot.position, slot.entry, price);
}

// What a step's fills and charges add up to.
struct StepCosts {
  float paid = 0;      // costs and borrowing, negative for a rebate
  float notional = 0;  // |units|·price over the fills
  uint32_t fills = 0;  // of non-zero size
};

// Fills `units` (signed) at `price`, charging `rate` of the notional.
template <typename Slot>
VIXEN_HOST_DEVICE void Fill(Slot& slot, float units, float price, float rate, StepCosts& costs) {
  if (units == 0.0f) return;
  const float notional = fabsf(units) * price;
  const float cost = notional * rate;
  const float before = slot.position;
  const float after = before + units;
  if (after == 0.0f) {
    slot.entry = 0.0f;
  } else if (before == 0.0f) {
    slot.entry = price;
  } else if ((units > 0.0f) == (before > 0.0f)) {
    slot.entry = (slot.entry * before + price * units) / after;
  }
  slot.position = after;
  slot.cash -= units * price + cost;
  slot.cumulative_costs += cost;
  costs.paid += cost;
  costs.notional += notional;
  costs.fills += 1;
}

// Closes the whole position at `price`; always filled.
template <typename Slot>
VIXEN_HOST_DEVICE void Close(Slot& slot, float price, float rate, StepCosts& costs) {
  Fill(slot, -slot.position, price, rate, costs);
}

// The position that a level of exposure asks for.
VIXEN_HOST_DEVICE float WantedPosition(const Rules& rules, float level, float equity, float price) {
  if (level == 0.0f) return 0.0f;
  return level * fmaxf(equity * rules.invested_share, 0.0f) / price;
}

// Rule 5: what an action asks for.
struct ActionTerms {
  float level;  // exposure wanted
  float rate;   // cost relative to the notional
  float fill;   // share that is filled
};

VIXEN_HOST_DEVICE ActionTerms TermsOf(const Rules& rules, int action) {
  const int style = action % kStyles;
  return {(static_cast<float>(action / kStyles) - 2.0f) * 0.5f, rules.rate[style],
          rules.settings.fill[style]};
}

// Rule 6: moves the position towards the action's exposure. Returns true when a reversal closed the
// old position first.
template <typename Slot>
VIXEN_HOST_DEVICE bool Trade(const Rules& rules, const ActionTerms& terms, float price, Slot& slot,
                             StepCosts& costs) {
  const float level = terms.level;
  const float rate = terms.rate;
  float equity = EquityAt(slot, price);
  float wanted = WantedPosition(rules, level, equity, price);
  const bool reversal =
      (slot.position > 0.0f && wanted < 0.0f) || (slot.position < 0.0f && wanted > 0.0f);
  if (reversal) {
    Close(slot, price, rate, costs);
    equity = EquityAt(slot, price);
    wanted = WantedPosition(rules, level, equity, price);
  }
  const float gap = wanted - slot.position;
  const bool inside_band = level != 0.0f && !reversal && slot.position != 0.0f &&
                           fabsf(gap) * price <= rules.settings.rebalance_band * equity;
  if (!inside_band) Fill(slot, gap * terms.fill, price, rate, costs);
  return reversal;
}

// A short position pays for the borrowed units, every bar that it stands.
template <typename Slot>
VIXEN_HOST_DEVICE void ChargeBorrowing(const Rules& rules, float price, Slot& slot,
                                       StepCosts& costs) {
  if (slot.position >= 0.0f) return;
  const float charge = fabsf(slot.position) * price * rules.borrow_rate;
  slot.cash -= charge;
  slot.cumulative_costs += charge;
  costs.paid += charge;
}

}  // namespace vixen::kernels
