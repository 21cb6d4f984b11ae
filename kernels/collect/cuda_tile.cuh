// SPDX-License-Identifier: Apache-2.0
// One network pass over 64 rows a warpgroup: weights stream through a ring of shared memory stages,
// activations stay in registers (the sums of a layer become the A operands of the next). sm_90a.
#pragma once

#include <cstdint>

#include "kernels/collect/cuda_operand.cuh"
#include "kernels/collect/cuda_ring.cuh"
#include "kernels/collect/cuda_tile_q.cuh"
#include "kernels/collect/cuda_wgmma.cuh"

namespace vixen::kernels {

// d (+)= rows × the inputs of one tile: sixteen words of `a` by kNeurons rows of B.
template <Operand kOperand, int kNeurons>
__device__ __forceinline__ void MultiplyTile(float (&d)[kNeurons / 2], const uint32_t* a,
                                             uint32_t tile, bool accumulate) {
  if constexpr (kOperand == Operand::kSplit) {
#pragma unroll
    for (int step = 0; step < 2; ++step) {
      const uint64_t high = TileDescriptor(tile + 32 * step);
      const uint64_t low = TileDescriptor(tile + 64 + 32 * step);
      Wgmma<false, kNeurons>(d, a + 8 * step, low, accumulate || step > 0);
      Wgmma<false, kNeurons>(d, a + 8 * step + 4, high, 1);
      Wgmma<false, kNeurons>(d, a + 8 * step, high, 1);
    }
  } else {
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      Wgmma<kOperand == Operand::kTf32, kNeurons>(d, a + 4 * step, TileDescriptor(tile + 32 * step),
                                                  accumulate || step > 0);
    }
  }
}

// d = state operands × layer 0's tiles for kNeurons of it.
template <Operand kOperand, int kNeurons>
__device__ __forceinline__ void MultiplyState(float (&d)[kNeurons / 2],
                                              const StateFragment<kOperand>& state,
                                              uint32_t tiles) {
  constexpr Operand kState = tile::StateOperand(kOperand);
#pragma unroll
  for (int i = 0; i < tile::kStateWidth / tile::TileInputs(kState); ++i) {
    MultiplyTile<kState, kNeurons>(d, state.word + 16 * i, tiles + i * kNeurons * 128, i > 0);
  }
}

// Layers 0 and 1 → the sums of layer 1. The products of layer 0 for the next T neurons run ahead of
// those of layer 1 over the present ones, so that activations are computed while the matrix units
// are busy.
template <Operand kOperand, int kGroups>
__device__ __forceinline__ void FirstLayers(Ring& ring, const Token<kGroups>& token,
                                            const tile::NetworkConstants& constants,
                                            const StateFragment<kOperand>& state, int lane,
                                            float (&h1)[128]) {
  constexpr int kInputs = tile::TileInputs(kOperand);
  constexpr int kChunks = tile::Layer1Stages(kOperand);
  constexpr int kLayer0Bytes = tile::Layer0Bytes(kOperand, kInputs);
  const int quad = lane % 4;
  const float scale = constants.scale[0];
  float h0[kInputs / 2];
  const auto layer0 = [&](uint32_t stage) {
    WgmmaFence();
    MultiplyState<kOperand, kInputs>(h0, state, stage);
    WgmmaCommit();
  };
  uint32_t a[2][16];
  uint32_t stage = ring.Wait();
  token.Take();
  layer0(stage);
  WgmmaWait<0>();
  Activate<kOperand, kInputs>(h0, scale, nullptr, nullptr, quad, a[0]);
  int pending = 0;
#pragma unroll
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    const int present = ring.place;
    ring.Advance();
    const bool last = chunk + 1 == kChunks;
    const uint32_t next = last ? 0 : ring.Wait();
    if (chunk > 0 && chunk % 4 == 0) token.Take();
    if (!last) layer0(next);
    WgmmaFence();
    MultiplyTile<kOperand, 256>(h1, a[chunk % 2], stage + kLayer0Bytes, chunk > 0);
    WgmmaCommit();
    if (chunk % 4 == 3) token.Pass();
    if (!last) {
      WgmmaWait<1>();
      // Layer 1 of the chunk before is done as well.
      if (chunk > 0) ring.Release(pending, lane);
      Activate<kOperand, kInputs>(h0, scale, nullptr, nullptr, quad, a[(chunk + 1) % 2]);
    } else {
      WgmmaWait<0>();
      ring.Release(pending, lane);
    }
    pending = present;
    stage = next;
  }
  ring.Release(pending, lane);
}

// Issues the products of one stream of layer 2, one group of instructions a stage.
template <Operand kOperand>
__device__ __forceinline__ void StreamLayer(Ring& ring, const uint32_t* hidden, int lane,
                                            float (&h2)[64]) {
#pragma unroll
  for (int chunk = 0; chunk < tile::StreamStages(kOperand); ++chunk) {
    const uint32_t stage = ring.Wait();
    WgmmaFence();
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      MultiplyTile<kOperand, 128>(h2, hidden + (2 * chunk + i) * 16, stage + i * 16384,
                                  chunk > 0 || i > 0);
    }
    WgmmaCommit();
    if (chunk > 0) {
      WgmmaWait<1>();
      ring.Release(ring.Before(), lane);
    }
    ring.Advance();
  }
}
// Waits for the products of the stage before and releases it.
__device__ __forceinline__ void FinishStream(Ring& ring, int lane) {
  WgmmaWait<0>();
  ring.Release(ring.Before(), lane);
}

template <Operand kOperand, int kGroups>
__device__ __forceinline__ TileQ NetworkPass(Ring& ring, const Token<kGroups>& token,
                                             const tile::NetworkConstants& constants,
                                             const StateFragment<kOperand>& state, int lane) {
  constexpr int kWords = 256 / tile::TileInputs(kOperand) * 16;
  const int quad = lane % 4;
  const float scale = constants.scale[2];
  __syncwarp();
  uint32_t hidden[kWords];
  {
    float h1[128];
    FirstLayers<kOperand, kGroups>(ring, token, constants, state, lane, h1);
    Activate<kOperand, 256>(h1, constants.scale[1], constants.bias1, constants.bias1, quad, hidden);
  }
  TileQ q;
  uint32_t advantage[kWords / 2];
  const float* advantage_bias = constants.bias2 + tile::kStream;
  {
    float h2[64];
    token.Take();
    StreamLayer<kOperand>(ring, hidden, lane, h2);
    token.Pass();
    FinishStream(ring, lane);
    ValueOf(h2, constants, scale, quad, q);
  }
  {
    float h2[64];
    token.Take();
    StreamLayer<kOperand>(ring, hidden, lane, h2);
    token.Pass();
    FinishStream(ring, lane);
    Activate<kOperand, 128>(h2, scale, advantage_bias, advantage_bias, quad, advantage);
  }
  float out[24];
  const uint32_t stage = ring.Wait();
  WgmmaFence();
#pragma unroll
  for (int i = 0; i < kWords / 32; ++i) {
    MultiplyTile<kOperand, 48>(out, advantage + 16 * i, stage + i * 6144, i > 0);
  }
  WgmmaCommit();
  WgmmaWait<0>();
  ring.Release(ring.place, lane);
  ring.Advance();
  AdvantageOf(out, constants, quad, q);
  return q;
}

}  // namespace vixen::kernels
