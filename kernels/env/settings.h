// SPDX-License-Identifier: Apache-2.0
// The settings of the bar environment as the rules read them: plain data, passed to kernels by
// value. Meaning, unit and range of each: proto/vixen/v1/config.proto and docs/environment.md.
#pragma once

#include <cstdint>
#include <type_traits>

namespace vixen::kernels {

inline constexpr int kActions = 45;
inline constexpr int kStyles = 9;
inline constexpr int kExposures = 5;
inline constexpr int kCategories = 3;  // short, flat, long
inline constexpr int kDiversityWindow = 100;
inline constexpr int kPortfolioFeatures = 3;
inline constexpr int kRewardTerms = 5;  // pnl, barrier, risk, diversity, curiosity
inline constexpr int kMostEmbedding = 32;

enum class OnBarrier : uint8_t { kTerminate = 0, kRelabel = 1 };
enum class BarrierShaping : uint8_t { kProduct = 0, kAligned = 1 };

struct EnvSettings {
  float initial_capital = 100'000.0f;
  float reserve = 0.10f;
  float spread = 0.0002f;
  float cost_bps[kStyles] = {1.0f, 1.5f, 2.0f, 0.2f, 0.3f, 0.4f, 0.8f, 1.0f, 1.2f};
  float fill[kStyles] = {1.0f, 1.0f, 1.0f, 0.5f, 0.75f, 1.0f, 0.9f, 0.95f, 1.0f};
  float rebalance_band = 0.05f;
  float borrow_bps = 0.0f;
  float profit_target_bps = 50.0f;
  float stop_loss_bps = 25.0f;
  int32_t max_holding_bars = 60;
  float min_equity = 0.2f;
  int32_t max_episode_steps = 0;  // 0: none
  float gamma = 0.99f;
  float pnl_scale = 1.0f;
  float barrier_bonus = 0.5f;
  float risk_threshold = 0.8f;
  float risk_scale = 0.5f;
  float diversity_min_entropy = 1.0f;  // bits
  float diversity_penalty = 0.1f;
  float curiosity_max = 0.1f;  // 0: no curiosity, no curiosity weights needed
  OnBarrier on_barrier = OnBarrier::kTerminate;
  BarrierShaping barrier_shaping = BarrierShaping::kProduct;
  bool recycle = true;
  bool carry_over = false;
  bool double_dqn = false;
  uint8_t action_count = kActions;  // n allowed actions, ascending in `actions`
  uint8_t actions[kActions] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14,
                               15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29,
                               30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44};
};
static_assert(std::is_trivially_copyable_v<EnvSettings>);

// The dataset as the rules read it: borrowed pointers (host or device memory) and the effective
// range.
struct MarketView {
  const float* features = nullptr;  // [T, F]
  const float* targets = nullptr;   // [T, 4] close, next_close, next_high, next_low
  const uint8_t* last = nullptr;    // [T]
  uint32_t bars = 0;                // T
  uint32_t feature_count = 0;       // F
  uint32_t begin = 0;               // effective range [begin, end)
  uint32_t end = 0;
};
static_assert(std::is_trivially_copyable_v<MarketView>);

}  // namespace vixen::kernels
