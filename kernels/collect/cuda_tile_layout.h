// SPDX-License-Identifier: Apache-2.0
// Where a weight sits in the images of the tile kernels: shared by the host code that builds them
// and the kernels that read them. Widths: 64 state columns (zeros beyond S),
// hidden 256 and 256, value and advantage 128 each, 48 outputs (45 actions, zeros), curiosity 64
// and 32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/env/host_device.h"

namespace vixen::kernels::tile {

// How the tile kernels compute a product: fp16 operands, tf32 operands, or float32 split into a
// high and a low fp16 each, three products (`fp32`).
enum class Operand : uint8_t { kFp16 = 0, kTf32 = 1, kSplit = 2 };

// call(std::integral_constant<Operand, operand>): kernels are templates over it.
template <typename Call>
auto WithOperand(Operand operand, const Call& call) {
  switch (operand) {
    case Operand::kTf32:
      return call(std::integral_constant<Operand, Operand::kTf32>());
    case Operand::kSplit:
      return call(std::integral_constant<Operand, Operand::kSplit>());
    case Operand::kFp16:
      break;
  }
  return call(std::integral_constant<Operand, Operand::kFp16>());
}

inline constexpr int kStateWidth = 64;
inline constexpr int kHidden = 256;
inline constexpr int kStream = 128;
inline constexpr int kOutputs = 48;

// The state column at position k of the first layer's products: each of the four lanes of a
// fragment row holds 16 neighbouring columns, so that it can load them as 32 bytes.
VIXEN_HOST_DEVICE int StateColumn(int k) {
  const int step = k / 16;
  const int place = k % 16;
  const int lane = place % 8 / 2;
  return 16 * lane + 4 * step + place / 8 * 2 + place % 2;
}

// Columns of a tile row: F features, zeros, twice a one (its weights are the bias, high and low
// part), the portfolio features.
inline constexpr int kMostFeatures = 59;
inline constexpr int kOneColumn = 59;
inline constexpr int kPortfolioColumn = 61;

// --- The tile kernels' stream
// ----------------------------------------------------------------------- A tile is `rows` neurons
// × 128 bytes of inputs: 64 in fp16, 32 in tf32, 32 split ones (32 high parts, then 32 low parts).
// 16-byte chunks are swizzled by the row (the 128-byte swizzle of wgmma descriptors).
//
// Layer 0 of tf32 has fp16 tiles: states and its weights are scaled by powers of two, so that fp16
// holds the same 11 significant bits, in half the registers.
VIXEN_HOST_DEVICE constexpr Operand StateOperand(Operand operand) {
  return operand == Operand::kSplit ? Operand::kSplit : Operand::kFp16;
}
VIXEN_HOST_DEVICE constexpr int TileInputs(Operand operand) {
  return operand == Operand::kFp16 ? 64 : 32;
}
VIXEN_HOST_DEVICE constexpr size_t TileBytes(int rows) { return static_cast<size_t>(rows) * 128; }
// `byte`: place in the row before swizzling.
VIXEN_HOST_DEVICE constexpr size_t TileOffset(int row, int byte) {
  return static_cast<size_t>(row) * 128 + ((byte / 16) ^ (row & 7)) * 16 + byte % 16;
}
// tf32: position q of a step of 8 holds neuron 2q, position q + 4 neuron 2q + 1, so that the sums
// of a layer are the next one's operands as they lie in registers.
VIXEN_HOST_DEVICE constexpr int Tf32Neuron(int k) { return k / 8 * 8 + k % 4 * 2 + k % 8 / 4; }

// Bytes of layer 0's tiles for `neurons` of it.
VIXEN_HOST_DEVICE constexpr int Layer0Bytes(Operand operand, int neurons) {
  return kStateWidth / TileInputs(StateOperand(operand)) * neurons * 128;
}

// Stages of one network pass, of T = TileInputs: 256/T × (T neurons of layer 0, then layer 1's 256
// rows of those T inputs); twice (value stream, advantage stream) 128/T × two tiles of 128 rows of
// layer 2; the advantage's last layer.
inline constexpr int kStageBytes = 40960;  // the largest
VIXEN_HOST_DEVICE constexpr int Layer1Stages(Operand operand) {
  return kHidden / TileInputs(operand);
}
VIXEN_HOST_DEVICE constexpr int Layer1StageBytes(Operand operand) {
  return Layer0Bytes(operand, TileInputs(operand)) + kHidden * 128;
}
VIXEN_HOST_DEVICE constexpr int StreamStages(Operand operand) {
  return kStream / TileInputs(operand);
}
VIXEN_HOST_DEVICE constexpr int Stages(Operand operand) {
  return Layer1Stages(operand) + 2 * StreamStages(operand) + 1;
}
VIXEN_HOST_DEVICE constexpr int LastStageBytes(Operand operand) {
  return kStream / TileInputs(operand) * 6144;
}
VIXEN_HOST_DEVICE constexpr int StageBytes(Operand operand, int stage) {
  return stage < Layer1Stages(operand) ? Layer1StageBytes(operand)
         : stage + 1 < Stages(operand) ? 32768
                                       : LastStageBytes(operand);
}
VIXEN_HOST_DEVICE constexpr size_t PassBytes(Operand operand) {
  return static_cast<size_t>(Layer1Stages(operand)) * Layer1StageBytes(operand) +
         static_cast<size_t>(StreamStages(operand)) * 65536 + LastStageBytes(operand);
}

// Curiosity, one stage: layer 0 (64 neurons; state columns below E, the category is part of the
// bias), layer 1 (32 neurons × 64 inputs).
VIXEN_HOST_DEVICE constexpr int CuriosityBytes(Operand operand) {
  return Layer0Bytes(operand, 64) + 64 / TileInputs(operand) * 32 * 128;
}

// Floats beside the tiles of a network. `scale`: what the sums of layer i are multiplied by before
// the bias is added (1 unless weights or activations are scaled by powers of two; the biases here
// and the value's weights are scaled to match).
struct alignas(16) NetworkConstants {
  float bias1[kHidden];
  float bias2[2 * kStream];  // value stream, advantage stream
  float value[kStream];      // the value's last weights
  float advantage[kOutputs];
  float value_bias;
  float scale[4];
};
struct alignas(16) CuriosityConstants {
  float bias0[3][64];  // by category
  float bias1[32];
  float scale[2];
};

}  // namespace vixen::kernels::tile
