// SPDX-License-Identifier: Apache-2.0
#include "kernels/nn/dense.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

namespace vixen::kernels {
namespace {

struct Layer {
  Layer(size_t inputs, size_t outputs, size_t rows)
      : weight(inputs * outputs),
        bias(outputs),
        packed(MakePackedLayer(inputs, outputs)),
        in(inputs * rows) {
    std::mt19937 generator(static_cast<uint32_t>(inputs * 131 + outputs));
    std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
    for (float& w : weight) w = uniform(generator);
    for (float& b : bias) b = uniform(generator);
    for (float& x : in) x = uniform(generator);
    PackOutputs(weight, bias, 0, packed);
  }

  AlignedFloats Run(const MatrixKernel& kernel, size_t rows, bool leaky) const {
    AlignedFloats out(packed.outputs * rows, -1.0f);
    DenseForward(kernel, packed, leaky, in.data(), out.data(), rows);
    return out;
  }

  std::vector<float> weight;
  std::vector<float> bias;
  PackedLayer packed;
  AlignedFloats in;
};

TEST(DenseLayers, AgreeWithDoublePrecision) {
  constexpr size_t kRows = 48;
  for (const MatrixKernel& kernel : AvailableMatrixKernels()) {
    for (const size_t outputs : {1, 2, 5, 6, 7, 16, 45, 64}) {
      const Layer layer(54, outputs, kRows);
      const AlignedFloats out = layer.Run(kernel, kRows, true);
      for (size_t o = 0; o < outputs; ++o) {
        for (size_t r = 0; r < kRows; ++r) {
          double sum = layer.bias[o];
          for (size_t k = 0; k < 54; ++k) {
            sum += double{layer.weight[o * 54 + k]} * layer.in[k * kRows + r];
          }
          ASSERT_NEAR(out[o * kRows + r], sum > 0 ? sum : 0.01 * sum, 2e-5) << kernel.name;
        }
      }
    }
  }
}

TEST(DenseLayers, GiveTheSameBitsOnEveryInstructionSet) {
  for (const size_t rows : {16, 32, 48, 64}) {
    for (const size_t outputs : {1, 3, 16, 45}) {
      const Layer layer(70, outputs, rows);
      for (const bool leaky : {false, true}) {
        const AlignedFloats expected = layer.Run(AvailableMatrixKernels().back(), rows, leaky);
        for (const MatrixKernel& kernel : AvailableMatrixKernels()) {
          const AlignedFloats out = layer.Run(kernel, rows, leaky);
          EXPECT_EQ(std::memcmp(out.data(), expected.data(), out.size() * sizeof(float)), 0)
              << kernel.name << " rows " << rows << " outputs " << outputs;
        }
      }
    }
  }
}

TEST(DenseLayers, GiveARowTheSameBitsWhereverItLies) {
  constexpr size_t kRows = 64;
  for (const MatrixKernel& kernel : AvailableMatrixKernels()) {
    Layer layer(33, 45, kRows);
    for (size_t k = 0; k < 33; ++k) {
      for (size_t r = 0; r < kRows; ++r) layer.in[k * kRows + r] = layer.in[k * kRows + 5];
    }
    const AlignedFloats out = layer.Run(kernel, kRows, true);
    Layer alone(33, 45, 16);
    for (size_t k = 0; k < 33; ++k) alone.in[k * 16] = layer.in[k * kRows];
    const AlignedFloats single = alone.Run(kernel, 16, true);
    for (size_t o = 0; o < 45; ++o) {
      for (size_t r = 0; r < kRows; ++r) ASSERT_EQ(out[o * kRows + r], single[o * 16]);
    }
  }
}

TEST(PackedLayers, UnpackToWhatWasPacked) {
  for (const size_t outputs : {1, 6, 16, 45}) {
    const Layer layer(54, outputs, 16);
    std::vector<float> weight(layer.weight.size());
    std::vector<float> bias(layer.bias.size());
    UnpackOutputs(layer.packed, 0, weight, bias);
    EXPECT_EQ(weight, layer.weight);
    EXPECT_EQ(bias, layer.bias);
  }
}

}  // namespace
}  // namespace vixen::kernels
