// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/env/settings.h"

namespace vixen::kernels {

// Everything that an episode slot carries from one step, or with `carry_over` from one launch, to
// the next. Recorded batches store these bytes as they are (little-endian, this layout is a file
// format: docs/formats.md).
struct SlotState {
  uint32_t rng = 0;  // LCG state x
  uint32_t bar = 0;
  uint32_t step = 0;     // t, episode step
  uint32_t episode = 0;  // the slot's own count
  float cash = 0;
  float position = 0;  // units, signed
  float entry = 0;     // size-weighted average entry price, 0 when flat
  float cumulative_costs = 0;
  float barrier_upper = 0;
  float barrier_lower = 0;
  float barrier_entry = 0;
  uint32_t barrier_expiry = 0;  // episode step
  float episode_reward = 0;     // undiscounted, for the statistics of ended episodes
  uint32_t category_count[kCategories] = {0, 0, 0};  // inside the diversity window
  uint8_t category_window[kDiversityWindow] = {};    // ring of the last 100 categories
  uint8_t barrier_armed = 0;
  uint8_t active = 1;  // 0: idles until the launch ends (`recycle` off)
  uint8_t reserved[2] = {0, 0};
};
static_assert(std::is_trivially_copyable_v<SlotState>);
static_assert(sizeof(SlotState) == 168);

}  // namespace vixen::kernels
