// SPDX-License-Identifier: Apache-2.0
// The answer to a weights push: the probe state through the pushed parameters as they lie in device
// memory. Only enqueues.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace vixen::kernels {

struct ProbeLayer {
  uint32_t inputs, outputs;
  uint64_t weight, bias;
};
struct ProbeNetwork {
  ProbeLayer layers[6];
  uint32_t curiosity = 0;
};
// fp32 products of one state with the flat parameters, one block. `state` [S], `out` [45] or for
// curiosity, whose last three inputs are flat's one-hot, [E].
cudaError_t EnqueueProbe(const float* parameters, const ProbeNetwork& network, const float* state,
                         float* out, cudaStream_t stream);

}  // namespace vixen::kernels
