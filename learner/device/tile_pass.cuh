// SPDX-License-Identifier: Apache-2.0
// A layer for the rows of one block by wgmma, TF32: D [outputs, rows] = weights × inputs. Four
// warpgroups take 64 outputs each. The weights come from L2 as an operand image straight into the
// registers that the instruction reads, each element once a block; the inputs of all rows lie in
// shared memory, whose bandwidth is then left to them, and are overwritten by the outputs. sm_90a.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/collect/cuda_mma.cuh"
#include "learner/device/tile_quarters.cuh"
#include "learner/device/tile_table.cuh"
#include "learner/device/tile_weights.cuh"

namespace vixen::learner::tile {

// A layer as a pass multiplies it, by W or by its transpose; both padded to 16.
struct Matrix {
  const float* image;
  uint32_t outputs, inputs;
};

template <typename Shape>
struct Pass {
  static constexpr uint32_t kRows = Shape::kRows;
  using Weights =
      std::conditional_t<Shape::kStaged, StagedWeights, BatchedWeights<(kRows > 64 ? 4 : 8)>>;

  float sum[kRows / 2];  // [eight rows, 4]: rows lane % 4 · 2 and the next of output lane / 4, then
                         // of output + 8
  Weights weights;
  uint32_t inputs_at;  // address of the block's inputs
  Quarters quarters;

  __device__ __forceinline__ Pass(const char* shared, uint32_t inputs_bytes,
                                  QuarterBarriers& barriers)
      : weights(kernels::SharedAddress(shared) + inputs_bytes),
        inputs_at(__shfl_sync(~0u, kernels::SharedAddress(shared), 0)),
        quarters(barriers) {}

  // Begins to load the weights of a layer.
  __device__ __forceinline__ void Start(const Matrix& matrix) {
    weights.Start(Of(matrix, threadIdx.x / 32));
  }
  // After Start: sum = this warpgroup's 64 outputs for all rows, of a layer that is not the first.
  // Warps beyond the outputs compute the last ones once more.
  __device__ __forceinline__ void Run(const Matrix& matrix) {
    weights.template Multiply<kRows, kRows>(sum, Steps(matrix), inputs_at, Inputs{quarters});
  }
  // The same of the first layer, whose inputs lie from a quarter on.
  __device__ __forceinline__ void RunFirst(const Matrix& matrix, uint32_t quarter) {
    quarters.WaitForTurn();
    weights.template Multiply<kRows, kRows>(sum, Steps(matrix),
                                            inputs_at + quarter * (kOutputs / 32 * kRows * 128),
                                            FirstInputs{quarters, quarter});
  }
  // Whether a layer of so many inputs, from a quarter on, has read this group's quarter.
  static __device__ __forceinline__ bool HasRead(uint32_t inputs, uint32_t quarter) {
    return Group() >= quarter && Group() < quarter + QuartersOf(inputs);
  }
  // The last product, of at most 64 outputs, without Start: `out` = all of them for this
  // warpgroup's quarter of the rows.
  __device__ __forceinline__ void RunHead(const Matrix& matrix, float (&out)[kRows / 8]) {
    BatchedWeights<8> own(0);
    own.Start(Of(matrix, threadIdx.x / 32 % 4));
    own.template Multiply<kRows / 4, kRows>(
        out, Steps(matrix), inputs_at + Group() * (kRows / 4 * 128), Inputs{quarters});
  }

 private:
  struct Inputs {
    Quarters& quarters;
    __device__ __forceinline__ void Before(uint32_t quarter) { quarters.WaitUntilWritten(quarter); }
    __device__ __forceinline__ void Begun() const {}
    __device__ __forceinline__ void After(uint32_t quarter) { quarters.TellRead(quarter); }
  };
  struct FirstInputs {
    Quarters& quarters;
    uint32_t first;
    __device__ __forceinline__ void Before(uint32_t) const {}
    __device__ __forceinline__ void Begun() const { quarters.PassTurnOn(); }
    __device__ __forceinline__ void After(uint32_t quarter) { quarters.TellRead(first + quarter); }
  };

  // What this lane takes of a tile of 16 outputs.
  static __device__ __forceinline__ const uint4* Of(const Matrix& matrix, uint32_t tile) {
    return reinterpret_cast<const uint4*>(matrix.image) +
           min(tile, matrix.outputs / 16 - 1) * (matrix.inputs / kStepInputs) * 32 +
           threadIdx.x % 32;
  }
  static __device__ __forceinline__ uint32_t Steps(const Matrix& matrix) {
    return PaddedFeatures(matrix.inputs) / kStepInputs;
  }
};

}  // namespace vixen::learner::tile
