// SPDX-License-Identifier: Apache-2.0
// A layer for the rows of one block by wgmma, TF32: D [outputs, rows] = weights × inputs. Four
// warpgroups take 64 outputs each. The weights come from L2 as an operand image straight into the
// registers that the instruction reads, each element once a block; the inputs of all rows lie in
// shared memory, whose bandwidth is then left to them, and are overwritten by the outputs. sm_90a.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/collect/cuda_mma.cuh"
#include "kernels/collect/cuda_wgmma.cuh"
#include "learner/device/operand.cuh"
#include "learner/device/tile_table.cuh"

namespace vixen::learner::tile {

// Between ordinary stores to shared memory and products that read them.
__device__ __forceinline__ void FenceForProducts() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// A layer as a pass multiplies it, by W or by its transpose; both padded to 16.
struct Matrix {
  const float* image;
  uint32_t outputs, inputs;
};

// The weights of a layer on their way to this thread's registers: three steps ahead, through
// registers alone or, where the sums leave too few, through shared memory that no other thread
// touches.
template <bool kStaged>
struct Weights;

template <>
struct Weights<false> {
  static constexpr int kPending = 1;  // products under way when the next weights come
  uint32_t place[4][4];
  const uint4* from;

  __device__ __forceinline__ explicit Weights(uint32_t /*stages*/) {}
  __device__ __forceinline__ void Start(const uint4* weights) {
    from = weights;
#pragma unroll
    for (uint32_t i = 0; i < 3; ++i) Load(i, i);
  }
  __device__ __forceinline__ void First() {}
  __device__ __forceinline__ const uint32_t* At(uint32_t i) const { return place[i]; }
  // Step `step`, of place i, is under way …
  __device__ __forceinline__ void Prepare(uint32_t, uint32_t, uint32_t) {}
  // … and those before kPending are done.
  __device__ __forceinline__ void Next(uint32_t i, uint32_t step, uint32_t steps) {
    if (step + 3 < steps) Load((i + 3) % 4, step + 3);
  }

 private:
  __device__ __forceinline__ void Load(uint32_t i, uint32_t step) {
    const uint4 four = __ldcg(from + step * 32);
    place[i][0] = four.x;
    place[i][1] = four.y;
    place[i][2] = four.z;
    place[i][3] = four.w;
  }
};

template <>
struct Weights<true> {
  static constexpr int kPending = 0;  // products under way when the next weights come
  uint32_t place[4];
  const uint4* from;
  uint32_t stage;  // address of this thread's part of the first

  __device__ __forceinline__ explicit Weights(uint32_t stages) : stage(stages + threadIdx.x * 16) {}
  __device__ __forceinline__ void Start(const uint4* weights) {
    from = weights;
#pragma unroll
    for (uint32_t i = 0; i < 3; ++i) {
      Copy(i, i);
      CloseCopies();
    }
  }
  __device__ __forceinline__ void First() {
    WaitForCopies<2>();
    Read(0);
  }
  __device__ __forceinline__ const uint32_t* At(uint32_t /*i*/) const { return place; }
  __device__ __forceinline__ void Prepare(uint32_t i, uint32_t step, uint32_t steps) const {
    if (step + 3 < steps) Copy((i + 3) % 4, step + 3);
    CloseCopies();
    WaitForCopies<2>();
  }
  __device__ __forceinline__ void Next(uint32_t i, uint32_t /*step*/, uint32_t /*steps*/) {
    Read((i + 1) % 4);
  }

 private:
  __device__ __forceinline__ void Copy(uint32_t i, uint32_t step) const {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(stage + i * kStageBytes),
                 "l"(from + step * 32)
                 : "memory");
  }
  __device__ __forceinline__ void Read(uint32_t i) {
    asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(place[0]), "=r"(place[1]), "=r"(place[2]), "=r"(place[3])
                 : "r"(stage + i * kStageBytes)
                 : "memory");
  }
};

template <typename Shape>
struct Pass {
  static constexpr uint32_t kRows = Shape::kRows;

  float sum[kRows / 2];
  Weights<Shape::kStaged> weights;
  uint32_t inputs_at;  // address of the block's inputs

  __device__ __forceinline__ Pass(const char* shared, uint32_t inputs_bytes)
      : weights(kernels::SharedAddress(shared) + inputs_bytes),
        inputs_at(kernels::SharedAddress(shared)) {}

  // Begins to load the weights of a layer; for the head each warpgroup all of them.
  __device__ __forceinline__ void Start(const Matrix& matrix, bool head = false) {
    const uint32_t warp = threadIdx.x / 32;
    const uint32_t tile = min(head ? warp % 4 : warp, matrix.outputs / 16 - 1);
    weights.Start(reinterpret_cast<const uint4*>(matrix.image) +
                  tile * (matrix.inputs / kStepInputs) * 32 + threadIdx.x % 32);
  }

  // After Start: sum = this warpgroup's 64 outputs for all rows. Warps beyond the outputs compute
  // the last ones once more.
  __device__ __forceinline__ void Run(const Matrix& matrix) {
    Multiply<kRows>(sum, matrix.inputs, inputs_at);
  }
  // Of at most 64 outputs: `out` = all of them for this warpgroup's quarter of the rows.
  __device__ __forceinline__ void RunHead(const Matrix& matrix, float (&out)[kRows / 8]) {
    const uint32_t group = __shfl_sync(~0u, threadIdx.x / 128, 0);
    Multiply<kRows / 4>(out, matrix.inputs, inputs_at + group * (kRows / 4 * 128));
  }

  // visit(output, first row of eight, four sums): rows lane % 4 · 2 and the next of output
  // lane / 4, then of output + 8.
  template <typename Visit>
  __device__ __forceinline__ void ForEach(Visit&& visit) const {
#pragma unroll
    for (uint32_t j = 0; j < kRows / 8; ++j) {
      visit(j, sum[4 * j], sum[4 * j + 1], sum[4 * j + 2], sum[4 * j + 3]);
    }
  }

 private:
  template <uint32_t kColumns>
  __device__ __forceinline__ void Multiply(float (&out)[kColumns / 2], uint32_t inputs,
                                           uint32_t rows_at) {
    const uint32_t steps = PaddedInputs(inputs) / kStepInputs;
    weights.First();
#pragma unroll 1
    for (uint32_t at = 0; at < steps; at += 4, rows_at += kRows * 128) {
#pragma unroll
      for (uint32_t i = 0; i < 4; ++i) {
        kernels::WgmmaFence();
        kernels::Wgmma<true, kColumns>(out, weights.At(i),
                                       kernels::TileDescriptor(rows_at + 32 * i), at + i > 0);
        kernels::WgmmaCommit();
        weights.Prepare(i, at + i, steps);
        kernels::WgmmaWait<Weights<Shape::kStaged>::kPending>();
        weights.Next(i, at + i, steps);
      }
    }
    kernels::WgmmaWait<0>();
  }
};

// A thread's places in the block's inputs and in a transposed buffer: of its outputs o and o + 8,
// rows 2·(lane % 4) and the next of each eight rows.
template <uint32_t kRows>
struct Places {
  uint32_t output;     // o
  uint32_t shared[2];  // byte of [row, o], [row + 1, o] for the first eight rows
  uint32_t to;         // byte of [o, row] in the block's first 32 rows

  static __device__ __forceinline__ Places Here() {
    const uint32_t lane = threadIdx.x % 32, row = lane % 4 * 2;
    Places places;
    places.output = threadIdx.x / 32 * 16 + lane / 4;
    places.shared[0] = InputByte(kRows, row, places.output);
    places.shared[1] = InputByte(kRows, row + 1, places.output);
    places.to = TransposedByte(0, places.output, row);
    return places;
  }
};

// Zeros for the outputs that pad a layer's to whole tiles of inputs.
template <uint32_t kRows>
__device__ __forceinline__ void StoreZeros(char* shared) {
  const auto places = Places<kRows>::Here();
#pragma unroll 1
  for (uint32_t j = 0; j < kRows / 8; ++j) {
    for (const uint32_t place : places.shared) {
      *reinterpret_cast<float*>(shared + j * 1024 + place) = 0.0f;
      *reinterpret_cast<float*>(shared + j * 1024 + (place ^ 32)) = 0.0f;
    }
  }
}

// The first `kept` rows of the block's inputs, of `width` columns, into a transposed buffer from
// `to` on.
template <uint32_t kRows>
__device__ __forceinline__ void StoreTransposed(const char* shared, uint32_t width, uint32_t kept,
                                                char* to) {
  const uint32_t lane = threadIdx.x % 32, chunks = width / 4;
  for (uint32_t i = threadIdx.x / 32; i < kept / 32 * chunks; i += kThreads / 32) {
    const uint32_t block = i / chunks, column = i % chunks * 4;
    const float4 four =
        *reinterpret_cast<const float4*>(shared + InputByte(kRows, block * 32 + lane, column));
    const float value[4] = {four.x, four.y, four.z, four.w};
    char* const rows = to + block * PaddedFeatures(width) * 128;
#pragma unroll
    for (uint32_t c = 0; c < 4; ++c) {
      *reinterpret_cast<float*>(rows + Swizzled(column + c, lane * 4)) = value[c];
    }
  }
}

}  // namespace vixen::learner::tile
