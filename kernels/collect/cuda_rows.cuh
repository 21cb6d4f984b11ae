// SPDX-License-Identifier: Apache-2.0
// Device helpers around the rules: rows out, reductions in a warp.
#pragma once

#include <cstdint>

#include "kernels/collect/cuda_launch.h"
#include "kernels/env/step.h"

namespace vixen::kernels {

inline constexpr unsigned kAllLanes = 0xffffffffu;

__device__ __forceinline__ float WarpSum(float value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, offset);
  }
  return value;
}

// Everything of a row but reward, td and curiosity.
__device__ __forceinline__ void WriteRecord(const LaunchArguments& launch, size_t row,
                                            const StepRecord& record, float q) {
  const BatchView& rows = launch.rows;
  rows.bar[row] = record.bar;
  rows.episode[row] = record.episode;
#pragma unroll
  for (int i = 0; i < kPortfolioFeatures; ++i) {
    rows.portfolio[row * kPortfolioFeatures + i] = record.portfolio[i];
    rows.next_portfolio[row * kPortfolioFeatures + i] = record.next_portfolio[i];
  }
  rows.action[row] = record.action;
  rows.flags[row] = record.flags;
  float4* scratch = reinterpret_cast<float4*>(launch.scratch + row);
  scratch[0] = make_float4(record.pnl, record.barrier, record.risk, record.diversity);
  scratch[1] =
      make_float4(q, record.costs.paid, record.costs.notional, __uint_as_float(record.costs.fills));
}

// Rule 11 to 13 once Q' and the curiosity are known; a row that is not valid becomes zeros.
// `scratch`: the row's, wherever it was brought.
__device__ __forceinline__ void FinishRow(const LaunchArguments& launch, size_t row, uint8_t flags,
                                          const RowScratch& scratch, float next_q,
                                          float mean_squared_error, bool curious) {
  const EnvSettings& settings = launch.rules.settings;
  const BatchView& rows = launch.rows;
  float reward = 0.0f;
  float td = 0.0f;
  float curiosity = 0.0f;
  float4 terms = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  if ((flags & kFlagValid) != 0) {
    terms = *reinterpret_cast<const float4*>(&scratch);
    if (curious) curiosity = CuriosityTerm(settings, mean_squared_error);
    reward = RewardOf(terms.x, terms.y, terms.z, terms.w, curiosity);
    td = TdError(settings, (flags & kFlagTerminated) != 0, reward, next_q, scratch.q);
  }
  rows.reward[row] = reward;
  rows.td[row] = td;
  launch.curiosity[row] = curiosity;
  if (rows.terms != nullptr) {
    float* out = rows.terms + row * kRewardTerms;
    out[0] = terms.x;
    out[1] = terms.y;
    out[2] = terms.z;
    out[3] = terms.w;
    out[4] = curiosity;
  }
}

// Order-preserving integers of floats: NaN below every number, −0 equal to 0.
__device__ __forceinline__ int OrderOf(float value) {
  if (value != value) return static_cast<int>(0x80000000u);
  const int bits = __float_as_int(value + 0.0f);
  return bits ^ ((bits >> 31) & 0x7fffffff);
}

}  // namespace vixen::kernels
