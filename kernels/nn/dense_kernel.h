// SPDX-License-Identifier: Apache-2.0
// The matrix product of the CPU executor, as a template over the vector registers. Included only by
// dense_generic.cc, dense_avx2.cc and dense_avx512.cc, each compiled for its instruction set.
//
// Activations of a block of rows lie as [width][rows]: a vector register holds neighbouring rows,
// weights are broadcast, and every layer writes what the next one reads. Each output is one chain
// of fused multiply-adds over k = 0, 1, …, started from the bias: its bits depend neither on its
// place in the block, nor on its neighbours, nor on the width of the registers.
#pragma once

#include <cstddef>

#include "kernels/nn/dense.h"

namespace vixen::kernels {
namespace {

// `kOutputs` outputs × `kVectors` registers of rows.
template <typename Vector, int kOutputs, int kVectors>
inline void DenseTile(const float* panel, const float* bias, size_t inputs, bool leaky,
                      const float* in, float* out, size_t rows) {
  using Register = typename Vector::Register;
  Register sum[kOutputs][kVectors];
  for (int o = 0; o < kOutputs; ++o) {
    for (int v = 0; v < kVectors; ++v) sum[o][v] = Vector::Broadcast(bias[o]);
  }
  for (size_t k = 0; k < inputs; ++k) {
    Register x[kVectors];
    for (int v = 0; v < kVectors; ++v) x[v] = Vector::Load(in + k * rows + v * Vector::kLanes);
    for (int o = 0; o < kOutputs; ++o) {
      const Register w = Vector::Broadcast(panel[k * kOutputs + o]);
      for (int v = 0; v < kVectors; ++v) sum[o][v] = Vector::MultiplyAdd(w, x[v], sum[o][v]);
    }
  }
  for (int o = 0; o < kOutputs; ++o) {
    for (int v = 0; v < kVectors; ++v) {
      const Register y = leaky ? Vector::LeakyRelu(sum[o][v]) : sum[o][v];
      Vector::Store(out + o * rows + v * Vector::kLanes, y);
    }
  }
}

template <typename Vector, int kOutputs, int kVectors>
void DensePanel(const float* panel, const float* bias, size_t inputs, bool leaky, const float* in,
                float* out, size_t rows) {
  constexpr size_t kStep = static_cast<size_t>(kVectors) * Vector::kLanes;
  size_t r = 0;
  for (; r + kStep <= rows; r += kStep) {
    DenseTile<Vector, kOutputs, kVectors>(panel, bias, inputs, leaky, in + r, out + r, rows);
  }
  for (; r < rows; r += Vector::kLanes) {
    DenseTile<Vector, kOutputs, 1>(panel, bias, inputs, leaky, in + r, out + r, rows);
  }
}

template <typename Vector, int kVectors>
void DenseForward(const PackedLayer& layer, bool leaky, const float* in, float* out, size_t rows) {
  static_assert(kPanelOutputs == 6);
  const size_t inputs = layer.inputs;
  for (size_t first = 0; first < layer.outputs; first += kPanelOutputs) {
    const float* panel = layer.weights.data() + first * inputs;
    const float* bias = layer.bias.data() + first;
    float* y = out + first * rows;
    switch (layer.outputs - first) {
      case 1:
        DensePanel<Vector, 1, kVectors>(panel, bias, inputs, leaky, in, y, rows);
        break;
      case 2:
        DensePanel<Vector, 2, kVectors>(panel, bias, inputs, leaky, in, y, rows);
        break;
      case 3:
        DensePanel<Vector, 3, kVectors>(panel, bias, inputs, leaky, in, y, rows);
        break;
      case 4:
        DensePanel<Vector, 4, kVectors>(panel, bias, inputs, leaky, in, y, rows);
        break;
      case 5:
        DensePanel<Vector, 5, kVectors>(panel, bias, inputs, leaky, in, y, rows);
        break;
      default:
        DensePanel<Vector, 6, kVectors>(panel, bias, inputs, leaky, in, y, rows);
    }
  }
}

}  // namespace
}  // namespace vixen::kernels
