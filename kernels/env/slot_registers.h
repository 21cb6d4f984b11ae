// SPDX-License-Identifier: Apache-2.0
// A slot for the length of a step: the scalars of SlotState apart from its diversity window, whose
// place is known at run time only and would keep a compiler from holding the rest in registers.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/env/host_device.h"
#include "kernels/env/slot_state.h"

namespace vixen::kernels {

// The window where it is.
struct SlotWindow {
  uint8_t* categories;  // [kDiversityWindow], at a multiple of 4 bytes

  VIXEN_HOST_DEVICE uint8_t& operator[](uint32_t place) const { return categories[place]; }
  VIXEN_HOST_DEVICE void Clear() const {
    std::memset(__builtin_assume_aligned(categories, 4), 0, kDiversityWindow);
  }
};

// The one category of the window that a step reads and writes, whatever its place; who keeps the
// window clears it.
struct WindowPlace {
  uint8_t category;

  VIXEN_HOST_DEVICE uint8_t& operator[](uint32_t) { return category; }
  VIXEN_HOST_DEVICE void Clear() const {}
};

// Members as of SlotState.
template <typename Window>
struct SlotRegisters {
  uint32_t rng;
  uint32_t bar;
  uint32_t step;
  uint32_t episode;
  float cash;
  float position;
  float entry;
  float cumulative_costs;
  float barrier_upper;
  float barrier_lower;
  float barrier_entry;
  uint32_t barrier_expiry;
  float episode_reward;
  uint32_t category_count[kCategories];
  Window category_window;
  uint32_t barrier_armed;
  uint32_t active;

  SlotRegisters() = default;
  VIXEN_HOST_DEVICE SlotRegisters(const SlotState& slot, Window window)
      : rng(slot.rng),
        bar(slot.bar),
        step(slot.step),
        episode(slot.episode),
        cash(slot.cash),
        position(slot.position),
        entry(slot.entry),
        cumulative_costs(slot.cumulative_costs),
        barrier_upper(slot.barrier_upper),
        barrier_lower(slot.barrier_lower),
        barrier_entry(slot.barrier_entry),
        barrier_expiry(slot.barrier_expiry),
        episode_reward(slot.episode_reward),
        category_count{slot.category_count[0], slot.category_count[1], slot.category_count[2]},
        category_window(window),
        barrier_armed(slot.barrier_armed),
        active(slot.active) {}

  // All but the window.
  VIXEN_HOST_DEVICE void Store(SlotState& slot) const {
    slot.rng = rng;
    slot.bar = bar;
    slot.step = step;
    slot.episode = episode;
    slot.cash = cash;
    slot.position = position;
    slot.entry = entry;
    slot.cumulative_costs = cumulative_costs;
    slot.barrier_upper = barrier_upper;
    slot.barrier_lower = barrier_lower;
    slot.barrier_entry = barrier_entry;
    slot.barrier_expiry = barrier_expiry;
    slot.episode_reward = episode_reward;
    for (int c = 0; c < kCategories; ++c) slot.category_count[c] = category_count[c];
    slot.barrier_armed = static_cast<uint8_t>(barrier_armed);
    slot.active = static_cast<uint8_t>(active);
  }

  // As FreshSlot: rule 14.
  VIXEN_HOST_DEVICE void BeginEpisode(float capital, uint32_t random, uint32_t start,
                                      uint32_t number) {
    rng = random;
    bar = start;
    step = 0;
    episode = number;
    cash = capital;
    position = 0.0f;
    entry = 0.0f;
    cumulative_costs = 0.0f;
    barrier_upper = 0.0f;
    barrier_lower = 0.0f;
    barrier_entry = 0.0f;
    barrier_expiry = 0;
    episode_reward = 0.0f;
    for (int c = 0; c < kCategories; ++c) category_count[c] = 0;
    category_window.Clear();
    barrier_armed = 0;
    active = 1;
  }
};

}  // namespace vixen::kernels
