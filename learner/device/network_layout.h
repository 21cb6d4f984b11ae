// SPDX-License-Identifier: Apache-2.0
// How the device trainer keeps the dueling network: shapes padded to the matrix instructions'
// tiles, the two streams' hidden layers merged into one, and one head of 48 rows, row 0 the value
// and rows 1 … 45 the advantages. No CUDA here: the host converts between this and the contract.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/nn/network.h"

namespace vixen::learner {

// Arithmetic of the matrix products; sums are float32 in each.
enum class DevicePrecision : uint8_t { kFp32, kTf32, kBf16 };

// Matrix instructions of the passes: mma.sync runs on every card, wgmma on sm_90a.
enum class PassAlgorithm : uint8_t { kBest, kMma, kWgmma };

struct DeviceLayer {
  uint32_t inputs = 0, outputs = 0;  // padded to 16
  uint32_t weight = 0, bias = 0;     // offsets in the flat parameter vector: [outputs, inputs]
  uint32_t image = 0;                // of the weight, in elements of an operand image
};

struct DeviceNetwork {
  static constexpr uint32_t kLayers = 4;
  static constexpr uint32_t kHeadRows = 48;  // V, the 45 advantages, two of padding

  DeviceLayer layers[kLayers];
  uint32_t features = 0, state = 0;                 // F and F + 3, not padded
  uint32_t value_hidden = 0, advantage_hidden = 0;  // columns of the merged hidden layer
  uint32_t parameters = 0;                          // padded count, a multiple of 16
  uint32_t image_elements = 0;                      // of all layers
  uint32_t widest = 0;                              // of all padded inputs
};

// Bytes from row to row of a pass's inputs in shared memory: an odd multiple of 16, so that the
// eight rows of a matrix load lie in different banks; and room for the 49 floats of a row of Q.
constexpr uint32_t PassRowBytes(uint32_t widest, uint32_t element) {
  const uint32_t bytes = widest * element + 16;
  return bytes < 208 ? 208 : bytes;
}

DeviceNetwork DeviceNetworkOf(const kernels::Architecture& architecture);

// Between the contract's flat parameters and [network.parameters] here; what is padding is 0.
std::vector<float> ToDeviceLayout(const DeviceNetwork& network, const kernels::Parameters& from);
kernels::Parameters FromDeviceLayout(const DeviceNetwork& network, const float* from,
                                     const kernels::Architecture& architecture,
                                     kernels::WeightsKind kind);

}  // namespace vixen::learner
