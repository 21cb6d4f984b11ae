// SPDX-License-Identifier: Apache-2.0
// Kernels of the stepped algorithm. `half`: activations are fp16, else float32. All only enqueue.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/collect/cuda_launch.h"

namespace vixen::kernels {

// Last layers' inputs of a network pass, shared by the kernels that read Q-values.
struct HeadInputs {
  const void* streams = nullptr;          // activations [rows, HV + HA], float or fp16
  const float* advantage = nullptr;       // [rows, 48] products, bias not added
  const float* value_weights = nullptr;   // [HV]
  const float* value_bias = nullptr;      // [1]
  const float* advantage_bias = nullptr;  // [45]
  uint32_t value_hidden = 0;
  uint32_t streams_width = 0;
};

// States of the slots' present bars, [N, width]; zeros beyond S.
cudaError_t EnqueueSlotStates(const LaunchArguments* arguments, const DeviceMarket& market,
                              uint32_t episodes, uint32_t width, bool half, void* out,
                              cudaStream_t stream);
// Next states of rows position[1] …, [rows, width].
cudaError_t EnqueueNextStates(const LaunchArguments* arguments, const DeviceMarket& market,
                              const uint64_t* position, uint32_t rows, uint32_t width, bool half,
                              void* out, cudaStream_t stream);
// Curiosity inputs of rows position[1] …, [rows, width].
cudaError_t EnqueueCuriosityInputs(const LaunchArguments* arguments, const DeviceMarket& market,
                                   const uint64_t* position, uint32_t rows, uint32_t embedding,
                                   uint32_t width, bool half, void* out, cudaStream_t stream);
// out = lrelu(product + bias), [rows, width]. With `half`, what fp16 clamps is counted in
// arguments->clamped: of every row when `first_row` is null, else of those from *first_row on that
// the launch has.
cudaError_t EnqueueActivation(const LaunchArguments* arguments, const uint64_t* first_row,
                              const float* product, const float* bias, uint32_t rows,
                              uint32_t width, bool half, void* out, cudaStream_t stream);
// Rules of step position[0] + offset of every slot, rows out.
cudaError_t EnqueueRules(const LaunchArguments* arguments, const HeadInputs& head,
                         const uint64_t* position, uint32_t offset, uint32_t episodes, bool half,
                         cudaStream_t stream);
// choice[r] = argmax of Q over the allowed actions.
cudaError_t EnqueueChoice(const LaunchArguments* arguments, const HeadInputs& head, uint32_t rows,
                          bool half, uint8_t* choice, cudaStream_t stream);
// Reward, TD error and curiosity of rows position[1] …; `choice` null: the target network's own.
// `curiosity_out` [rows, 32] products or null, with their bias.
cudaError_t EnqueueFinish(const LaunchArguments* arguments, const DeviceMarket& market,
                          const HeadInputs& head, const uint64_t* position, const uint8_t* choice,
                          const float* curiosity_out, const float* curiosity_bias,
                          uint32_t embedding, uint32_t rows, bool half, cudaStream_t stream);
// position[index] += amount; `amount` 0 sets it to 0.
cudaError_t EnqueueAdvance(uint64_t* position, int index, uint64_t amount, cudaStream_t stream);

}  // namespace vixen::kernels
