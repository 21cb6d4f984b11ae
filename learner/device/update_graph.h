// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <map>

#include "absl/status/status.h"
#include "kernels/cuda/stream.h"
#include "learner/device/curiosity.h"
#include "learner/device/nccl_group.h"
#include "learner/device/network_kernels.h"
#include "learner/device/sum_tree.h"
#include "learner/device/trainer_memory.h"

namespace vixen::learner {

// The kernels of consecutive updates as CUDA graphs, made on first use and kept: by number of
// updates. Priorities, the next draw and the curiosity model run beside the weights' gradients and
// the step.
class UpdateGraphs {
 public:
  UpdateGraphs() = default;
  // `curiosity`: period 0 where no model is trained.
  UpdateGraphs(const DeviceNetwork& network, const PassShape& shape, const UpdateSettings& settings,
               const CuriosityView& curiosity)
      : network_(network), shape_(shape), settings_(settings), curiosity_(curiosity) {}

  absl::Status Create();
  // From here on each update adds its gradient up over `group`, which must outlive the graphs;
  // null: alone. Graphs made before are destroyed; none may be running.
  void ShareWith(const NcclGroup* group);

  // Enqueues `updates` updates.
  absl::Status Launch(uint64_t updates, const ReplayView& replay, const TrainerMemory& memory,
                      cudaStream_t stream);
  // One update in two halves, without a graph: up to this rank's gradient and figures in
  // buffers.gradient; then, from their means over the ranks in buffers.partial, the rest.
  absl::Status LaunchFirstHalf(const ReplayView& replay, const UpdateBuffers& buffers,
                               cudaStream_t stream) const;
  absl::Status LaunchSecondHalf(const ReplayView& replay, const UpdateBuffers& buffers,
                                cudaStream_t stream) const;

 private:
  absl::Status Enqueue(uint64_t updates, const ReplayView& replay, const TrainerMemory& memory,
                       cudaStream_t stream) const;
  // From the parts of the gradient to the step's scalars.
  absl::Status EnqueueReduce(const UpdateBuffers& buffers, uint32_t index,
                             cudaStream_t stream) const;
  absl::Status Capture(uint64_t updates, const ReplayView& replay, const TrainerMemory& memory,
                       kernels::GraphExec& graph) const;

  DeviceNetwork network_;
  PassShape shape_;
  UpdateSettings settings_;
  CuriosityView curiosity_;
  const NcclGroup* group_ = nullptr;
  kernels::Stream capture_, beside_;
  kernels::Event lossed_, sampled_, reduced_, trained_;
  std::map<uint64_t, kernels::GraphExec> graphs_;
};

}  // namespace vixen::learner
