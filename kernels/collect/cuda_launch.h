// SPDX-License-Identifier: Apache-2.0
// What the kernels of one launch read and write: plain data, in device memory or passed by value.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/batch/batch.h"
#include "kernels/batch/statistics.h"
#include "kernels/env/rules.h"
#include "kernels/env/slot_state.h"

namespace vixen::kernels {

// What the sequential phase leaves for the batched phase and the statistics, a row; one 32-byte
// sector.
struct alignas(16) RowScratch {
  float pnl;
  float barrier;
  float risk;
  float diversity;
  float q;         // online Q(s, a)
  float paid;      // costs of the step
  float notional;  // filled in the step
  uint32_t fills;
};
static_assert(sizeof(RowScratch) == 32);

// The dataset in device memory. `view.features` is null: rows there are `stride` floats apart.
struct DeviceMarket {
  MarketView view;
  const float* features = nullptr;   // [T, stride]
  uint32_t stride = 0;               // F rounded up to 4
  const uint16_t* packed = nullptr;  // fp16 [T, 64], zeros beyond F; for tile kernels, else null
};

struct LaunchArguments {
  Rules rules;
  DeviceMarket market;
  uint32_t episodes = 0;  // N
  uint32_t steps = 0;     // L
  uint64_t seed = 0;
  uint64_t launch = 0;
  uint64_t allowed = 0;  // bit a: action a is allowed
  float epsilon = 0;
  uint32_t keep_slots = 0;            // 1: `slots` holds the states to go on from
  const uint32_t* rng = nullptr;      // [N] or null: from (seed, launch)
  const uint32_t* starts = nullptr;   // [N] or null
  const uint8_t* scripted = nullptr;  // [N, L] or null
  SlotState* slots = nullptr;         // [N]
  SlotState* start_slots =
      nullptr;                    // [N], copy at the start of the launch; null without carry_over
  BatchView rows;                 // device columns
  RowScratch* scratch = nullptr;  // [N·L]
  float* curiosity = nullptr;     // [N·L], zero where curiosity is off
  LaunchStatistics* statistics = nullptr;
  unsigned long long* bad_row = nullptr;  // first row with a value that is not finite, or ~0
  unsigned long long* clamped = nullptr;  // activations clamped so far, fp16 only
};
static_assert(std::is_trivially_copyable_v<LaunchArguments>);

// Launch-wide kernels. All of them only enqueue.

// Slot states at the start of the launch: kept, explicit, or from (seed, launch). Copies them to
// `start_slots` and resets `bad_row` and `clamped`.
cudaError_t EnqueueStart(const LaunchArguments* arguments, uint32_t episodes, cudaStream_t stream);

// Partial sums of EnqueueStatistics, one a warp.
size_t StatisticsWorkspaceBytes();
// Statistics of the finished rows in a fixed order, the slots' running episode reward, the first
// bad row.
cudaError_t EnqueueStatistics(const LaunchArguments* arguments, uint32_t episodes, uint32_t steps,
                              void* workspace, cudaStream_t stream);

// features [T, F] → [T, stride] and, where `packed` is given, fp16 [T, 64].
cudaError_t EnqueueLayOutFeatures(const float* features, uint64_t rows, uint32_t width,
                                  uint32_t stride, float* out, uint16_t* packed,
                                  cudaStream_t stream);

}  // namespace vixen::kernels
