// SPDX-License-Identifier: Apache-2.0
// The diversity term (rule 8 of docs/environment.md).
#pragma once

#include <cstdint>

#include "kernels/env/host_device.h"
#include "kernels/env/rules.h"
#include "kernels/env/slot_state.h"

namespace vixen::kernels {

// 0 short, 1 flat, 2 long.
VIXEN_HOST_DEVICE int CategoryOf(int action) {
  const int exposure_class = action / kStyles;
  return exposure_class < 2 ? 0 : (exposure_class == 2 ? 1 : 2);
}

// Bits, of a full window.
VIXEN_HOST_DEVICE float EntropyOf(const Rules& rules, const uint32_t count[kCategories]) {
  return -(rules.p_log2_p[count[0]] + rules.p_log2_p[count[1]] + rules.p_log2_p[count[2]]);
}

// Puts the action of episode step slot.step into the window and returns the term.
VIXEN_HOST_DEVICE float StepDiversity(const Rules& rules, int category, SlotState& slot) {
  const uint32_t place = slot.step % kDiversityWindow;
  if (slot.step >= kDiversityWindow) slot.category_count[slot.category_window[place]] -= 1;
  slot.category_window[place] = static_cast<uint8_t>(category);
  slot.category_count[category] += 1;
  const bool full = slot.step + 1 >= kDiversityWindow;
  if (!full || EntropyOf(rules, slot.category_count) >= rules.settings.diversity_min_entropy) {
    return 0.0f;
  }
  return -rules.settings.diversity_penalty;
}

}  // namespace vixen::kernels
