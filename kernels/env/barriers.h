// SPDX-License-Identifier: Apache-2.0
// The triple barrier (rule 7 of docs/environment.md). `Slot`: SlotState or SlotRegisters.
#pragma once

#include <cstdint>

#include "kernels/batch/columns.h"
#include "kernels/env/host_device.h"
#include "kernels/env/rules.h"

namespace vixen::kernels {

template <typename Slot>
VIXEN_HOST_DEVICE void ArmBarrier(const Rules& rules, float price, Slot& slot) {
  // price + price·pt: price·(1 + pt) would miss one tick tie in seven in float32.
  const bool is_long = slot.position > 0.0f;
  slot.barrier_entry = price;
  slot.barrier_upper = price + price * (is_long ? rules.profit_target : rules.stop_loss);
  slot.barrier_lower = price - price * (is_long ? rules.stop_loss : rules.profit_target);
  slot.barrier_expiry = slot.step + static_cast<uint32_t>(rules.settings.max_holding_bars);
  slot.barrier_armed = 1;
}

template <typename Slot>
VIXEN_HOST_DEVICE void DisarmBarrier(Slot& slot) {
  slot.barrier_armed = 0;
  slot.barrier_entry = 0.0f;
  slot.barrier_upper = 0.0f;
  slot.barrier_lower = 0.0f;
  slot.barrier_expiry = 0;
}

// After the trade of a step: arms where a position was opened or stands unarmed, and reads what the
// next bar's high and low hit. A result disarms.
template <typename Slot>
VIXEN_HOST_DEVICE BarrierResult StepBarrier(const Rules& rules, bool opened, float price,
                                            float next_high, float next_low, Slot& slot) {
  if (slot.position == 0.0f) {
    DisarmBarrier(slot);
    return BarrierResult::kNone;
  }
  if (opened || slot.barrier_armed == 0) ArmBarrier(rules, price, slot);
  const bool hit_up = next_high >= slot.barrier_upper;
  const bool hit_down = next_low <= slot.barrier_lower;
  const bool is_long = slot.position > 0.0f;
  BarrierResult result = BarrierResult::kNone;
  if (is_long ? hit_down : hit_up) {
    result = BarrierResult::kStop;
  } else if (is_long ? hit_up : hit_down) {
    result = BarrierResult::kProfit;
  } else if (slot.step + 1 >= slot.barrier_expiry) {
    result = BarrierResult::kTime;
  }
  if (result != BarrierResult::kNone) DisarmBarrier(slot);
  return result;
}

}  // namespace vixen::kernels
