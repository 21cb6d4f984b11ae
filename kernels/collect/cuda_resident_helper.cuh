// SPDX-License-Identifier: Apache-2.0
// The helper warps of a resident kernel, in either form of its memory: rules, rows out, states in.
#pragma once

#include <type_traits>

#include "kernels/collect/cuda_resident_rules.cuh"
#include "kernels/collect/cuda_resident_speculate.cuh"

namespace vixen::kernels::resident {

template <typename F>
using HelperMemory = std::conditional_t<F::kEpisodes == 1, SpeculativeMemory, RulesMemory>;

// All steps of helper warp `helper`. The block's slots are first_slot …, `episodes` of them.
// `begin`: the barriers that all roles pass once the first states are there, and when they are
// read.
template <typename Memory, typename Begin>
__device__ __forceinline__ void RunHelper(const LaunchArguments& launch, Memory& memory,
                                          HelperMemory<typename Memory::FormOf>& mine,
                                          uint32_t first_slot, int episodes, int helper, int lane,
                                          const Begin& begin) {
  if constexpr (Memory::kEpisodes == 1) {
    if (helper == kCategories) {
      Speculation::Start(launch, memory, mine, first_slot, lane);
      const SlotState& slot = launch.slots[episodes > 0 ? first_slot : 0];
      if (lane < 16) {
        PutFeatures(memory, 0, 0, lane, LoadFeatures(launch.market, slot.bar, lane));
      }
    }
    begin();
    if (helper < kCategories) {
      RunSpeculator(launch, memory, mine, helper, lane);
    } else {
      RunCarrier(launch, memory, mine, first_slot, lane);
    }
  } else {
    RulesWarp<Memory> rules(launch, memory, mine, first_slot, episodes, helper, lane);
    rules.PutFirstStates();
    begin();
    rules.Run();
  }
}

// Biases as BiasLayout has them for the default widths.
inline constexpr int kLayer1Bias = 256;
inline constexpr int kStreamBias = 512;
inline constexpr int kAdvantageBias = 896;
inline constexpr int kValueBias = 944;

// All threads: `what` becomes zero.
template <typename T>
__device__ __forceinline__ void ZeroWords(T& what) {
  uint32_t* words = reinterpret_cast<uint32_t*>(&what);
  for (size_t i = threadIdx.x; i < sizeof(T) / 4; i += kResidentThreads) words[i] = 0;
}

// What both forms of the memory hold alike: layer 0's portfolio columns and biases, the outputs'
// biases; activations start as zeros.
template <typename Memory>
__device__ __forceinline__ void LoadCommon(const std::byte* image, Operand operand,
                                           const float* biases, Memory& memory) {
  ZeroWords(memory.hidden);
  ZeroWords(memory.state);
  ZeroWords(memory.outputs);
  const float4* portfolio = reinterpret_cast<const float4*>(image + PortfolioOffset(operand));
  for (int i = threadIdx.x; i < tile::kHidden; i += kResidentThreads) {
    memory.portfolio_weights[i % 4][i / 4] = portfolio[i];
    memory.bias0[i] = biases[i];
  }
  for (int i = threadIdx.x; i < kOutputs; i += kResidentThreads) {
    memory.bias3[i] = i < kValueOutput    ? biases[kAdvantageBias + i]
                      : i == kValueOutput ? biases[kValueBias]
                                          : 0.0f;
  }
}

}  // namespace vixen::kernels::resident
