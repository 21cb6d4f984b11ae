// SPDX-License-Identifier: Apache-2.0
// The networks' forward passes on the CPU, over blocks of rows laid out [width][rows] (dense.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/nn/dense.h"
#include "kernels/nn/network.h"

namespace vixen::kernels {

// The dueling network: Q = V + Adv − mean(Adv). Immutable after construction, so any number of
// threads may run it, each with its own scratch.
class CpuQNetwork {
 public:
  CpuQNetwork(const Parameters& parameters, MatrixKernel kernel);

  // Floats of scratch a row of the block.
  static size_t ScratchWidth(const Architecture& architecture);
  // `state` [S][rows] → `q` [45][rows]; `scratch` [ScratchWidth][rows]. All 64-byte aligned.
  void Forward(const float* state, size_t rows, float* scratch, float* q) const;

  // The parameters as Forward reads them.
  Parameters ReadBack() const;

 private:
  Architecture architecture_;
  WeightsKind kind_;
  MatrixKernel kernel_;
  PackedLayer shared0_;
  PackedLayer shared1_;
  PackedLayer streams_;  // value_layers.0 and advantage_layers.0: one input, outputs side by side
  PackedLayer value1_;
  PackedLayer advantage1_;
};

// The curiosity model: input s[0..E) ‖ one-hot(category), output the guess of s'[0..E).
class CpuCuriosityNetwork {
 public:
  CpuCuriosityNetwork(const Parameters& parameters, MatrixKernel kernel);

  static size_t ScratchWidth(const Architecture& architecture);
  // `input` [E + 3][rows] → `output` [E][rows].
  void Forward(const float* input, size_t rows, float* scratch, float* output) const;

  Parameters ReadBack() const;

 private:
  Architecture architecture_;
  MatrixKernel kernel_;
  PackedLayer hidden_;
  PackedLayer output_;
};

}  // namespace vixen::kernels
