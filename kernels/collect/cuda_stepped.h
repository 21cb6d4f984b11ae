// SPDX-License-Identifier: Apache-2.0
// The stepped algorithm: per step cuBLAS products and a rules kernel, captured as a CUDA graph; the
// batched phase as the same products over pieces of the launch's rows. Any width and setting.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "kernels/collect/collector.h"
#include "kernels/collect/cuda_launch.h"
#include "kernels/collect/cuda_weights.h"
#include "kernels/cuda/buffer.h"
#include "kernels/cuda/cublas.h"
#include "kernels/cuda/stream.h"

namespace vixen::kernels {

// Device addresses of one kind's live image.
struct LiveWeights {
  WeightsLayout layout;
  const std::byte* image = nullptr;
  template <typename T>
  const T* at(size_t offset) const {
    return reinterpret_cast<const T*>(image + offset);
  }
};

struct LivePolicy {
  LiveWeights online;
  LiveWeights target;
  LiveWeights curiosity;
};

class SteppedAlgorithm {
 public:
  SteppedAlgorithm() = default;
  ~SteppedAlgorithm();
  SteppedAlgorithm(const SteppedAlgorithm&) = delete;
  SteppedAlgorithm& operator=(const SteppedAlgorithm&) = delete;

  // Allocates and captures. `arguments` is the device copy that every launch refreshes; `precision`
  // is fp32, tf32 or fp16.
  absl::Status Prepare(const CollectorOptions& options, Precision precision,
                       const LivePolicy& weights, const LaunchArguments* arguments,
                       const DeviceMarket& market, cudaStream_t stream);
  absl::Status EnqueueSequence(cudaStream_t stream);
  absl::Status EnqueueBatch(cudaStream_t stream);
  size_t workspace_bytes() const;

 private:
  absl::Status Multiply(const LiveWeights& weights, int matrix, const void* input, uint32_t stride,
                        uint32_t rows, float* output);
  // `first_row`: as of EnqueueActivation.
  absl::Status Network(const LiveWeights& weights, uint32_t rows, const uint64_t* first_row,
                       cudaStream_t stream);
  absl::Status Step(uint32_t offset, cudaStream_t stream);
  absl::Status Piece(cudaStream_t stream);
  template <typename Enqueue>
  absl::Status Capture(cudaStream_t stream, const Enqueue& enqueue, GraphExec& graph);
  bool half() const { return precision_ == Precision::kFp16; }

  CollectorOptions options_;
  Precision precision_ = Precision::kFp32;
  LivePolicy weights_;
  const LaunchArguments* arguments_ = nullptr;
  DeviceMarket market_;
  const Cublas* api_ = nullptr;
  cublasHandle_t cublas_ = nullptr;
  uint32_t graph_steps_ = 0;  // steps in one replay of `steps_graph_`
  uint32_t piece_rows_ = 0;   // rows in one replay of `piece_graph_`
  uint32_t buffer_rows_ = 0;
  GraphExec steps_graph_;
  GraphExec rest_graph_;  // the last L mod graph_steps_ steps
  GraphExec piece_graph_;
  DeviceBuffer<std::byte> cublas_workspace_;
  DeviceBuffer<float> input_;  // states, then activations, alternating; float or fp16
  DeviceBuffer<float> activation_;
  DeviceBuffer<float> product_;
  DeviceBuffer<float> curiosity_out_;
  DeviceBuffer<uint8_t> choice_;     // double DQN: the online network's actions
  DeviceBuffer<uint64_t> position_;  // [0]: step, [1]: row at which a replay begins
};

}  // namespace vixen::kernels
