// SPDX-License-Identifier: Apache-2.0
// The diversity term (rule 8 of docs/environment.md). `Slot`: SlotState or SlotRegisters.
#pragma once

#include <cstdint>

#include "kernels/env/host_device.h"
#include "kernels/env/rules.h"

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
template <typename Slot>
VIXEN_HOST_DEVICE float StepDiversity(const Rules& rules, int category, Slot& slot) {
  const uint32_t place = slot.step % kDiversityWindow;
  const int leaving = slot.step >= kDiversityWindow ? slot.category_window[place] : -1;
  slot.category_window[place] = static_cast<uint8_t>(category);
  // No index known at run time only: counts in registers stay there.
  for (int c = 0; c < kCategories; ++c) {
    slot.category_count[c] += (c == category ? 1u : 0u) - (c == leaving ? 1u : 0u);
  }
  const bool full = slot.step + 1 >= kDiversityWindow;
  if (!full || EntropyOf(rules, slot.category_count) >= rules.settings.diversity_min_entropy) {
    return 0.0f;
  }
  return -rules.settings.diversity_penalty;
}

}  // namespace vixen::kernels
