// SPDX-License-Identifier: Apache-2.0
// The weights of a layer as an operand image from L2 into the registers that wgmma reads, and the
// products with the rows' inputs in shared memory. sm_90a.
#pragma once

#include <cstdint>

#include "kernels/collect/cuda_wgmma.cuh"
#include "learner/device/operand.cuh"
#include "learner/device/tile_table.cuh"

namespace vixen::learner::tile {

inline constexpr uint32_t kQuarterSteps = kOutputs / kStepInputs;

// The weights of a layer on their way to this thread's registers: kBatch steps, and while these are
// multiplied the next as many …
template <uint32_t kBatch>
struct BatchedWeights {
  uint32_t place[2][kBatch][4];
  const uint4* from;

  __device__ __forceinline__ explicit BatchedWeights(uint32_t /*stages*/) {}
  __device__ __forceinline__ void Start(const uint4* weights) {
    from = weights;
    Load(0, 0);
  }

  // `inputs`: what is called before and after the products of a quarter, and once the
  // first are under way.
  template <uint32_t kColumns, uint32_t kRows, typename Inputs>
  __device__ __forceinline__ void Multiply(float (&out)[kColumns / 2], uint32_t steps,
                                           uint32_t rows_at, Inputs&& inputs) {
#pragma unroll 1
    for (uint32_t at = 0; at < steps; at += 2 * kBatch) {
#pragma unroll
      for (uint32_t half = 0; half < 2; ++half) {
        const uint32_t step = at + half * kBatch;
        if (half == 1 && step >= steps) break;
        if (step % kQuarterSteps == 0) inputs.Before(step / kQuarterSteps);
        const uint64_t descriptor = kernels::TileDescriptor(rows_at + step / 4 * (kRows * 128));
        kernels::WgmmaFence();
#pragma unroll
        for (uint32_t i = 0; i < kBatch; ++i) {
          kernels::Wgmma<true, kColumns>(out, place[half][i],
                                         descriptor + i / 4 * (kRows * 128 / 16) + i % 4 * 2,
                                         step + i > 0);
        }
        kernels::WgmmaCommit();
        if (step == 0) inputs.Begun();
        kernels::WgmmaWait<1>();
        if (step > 0 && step % kQuarterSteps == 0) inputs.After(step / kQuarterSteps - 1);
        if (step + kBatch < steps) Load(half ^ 1, step + kBatch);
      }
    }
    kernels::WgmmaWait<0>();
    inputs.After(steps / kQuarterSteps - 1);
  }

 private:
  __device__ __forceinline__ void Load(uint32_t half, uint32_t step) {
#pragma unroll
    for (uint32_t i = 0; i < kBatch; ++i) {
      const uint4 four = __ldcg(from + (step + i) * 32);
      place[half][i][0] = four.x;
      place[half][i][1] = four.y;
      place[half][i][2] = four.z;
      place[half][i][3] = four.w;
    }
  }
};

// … or, where the sums leave too few, three steps ahead through shared memory that no other thread
// touches.
struct StagedWeights {
  uint32_t place[4];
  const char* from;
  uint32_t stage;  // address of this thread's part of the first

  __device__ __forceinline__ explicit StagedWeights(uint32_t stages)
      : stage(InRegister(stages + threadIdx.x * 16)) {}
  __device__ __forceinline__ void Start(const uint4* weights) {
    from = reinterpret_cast<const char*>(weights);
    Copy<0>();
    Copy<1>();
    Copy<2>();
  }

  template <uint32_t kColumns, uint32_t kRows, typename Inputs>
  __device__ __forceinline__ void Multiply(float (&out)[kColumns / 2], uint32_t steps,
                                           uint32_t rows_at, Inputs&& inputs) {
    WaitForCopies<2>();
    Read(0);
    uint64_t descriptor = kernels::TileDescriptor(rows_at);
#pragma unroll 1
    for (uint32_t at = 0; at < steps; at += 4) {
      const bool more = at + 4 < steps;
      if (at % kQuarterSteps == 0) inputs.Before(at / kQuarterSteps);
#pragma unroll
      for (uint32_t i = 0; i < 4; ++i) {
        kernels::WgmmaFence();
        kernels::Wgmma<true, kColumns>(out, place, descriptor + 2 * i, at + i > 0);
        kernels::WgmmaCommit();
        if (i == 0) Copy<3>();
        if (i == 1) CopyIf<4>(more);
        if (i == 2) CopyIf<5>(more);
        if (i == 3) CopyIf<6>(more);
        WaitForCopies<2>();
        kernels::WgmmaWait<0>();
        Read(i + 1);
      }
      if (at == 0) inputs.Begun();
      if (at % kQuarterSteps != 0) inputs.After(at / kQuarterSteps);
      from += 4 * kStepBytes;
      descriptor += kRows * 128 / 16;
    }
  }

 private:
  static constexpr uint32_t kStepBytes = 32 * 16;  // of a tile of 16 outputs

  template <uint32_t kStep>
  __device__ __forceinline__ void Copy() const {
    CopyIf<kStep>(true);
  }
  template <uint32_t kStep>
  __device__ __forceinline__ void CopyIf(bool there_is) const {
    if (there_is) {
      asm volatile("cp.async.cg.shared.global [%0 + %2], [%1 + %3], 16;" ::"r"(stage), "l"(from),
                   "n"(kStep % kStages * kStageBytes), "n"(kStep * kStepBytes)
                   : "memory");
    }
    CloseCopies();
  }
  __device__ __forceinline__ void Read(uint32_t step) {
    asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(place[0]), "=r"(place[1]), "=r"(place[2]), "=r"(place[3])
                 : "r"(stage + step % kStages * kStageBytes)
                 : "memory");
  }
};

}  // namespace vixen::learner::tile
