// SPDX-License-Identifier: Apache-2.0
// Matrix products on the processor, with the instruction set chosen at run time: the executor's
// layers (dense.h) and the trainer's passes.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace vixen::kernels {

// Columns of every product are a multiple of this: the lanes of the widest register.
inline constexpr size_t kColumnMultiple = 16;
// Rows that share one pass over B.
inline constexpr size_t kTileRows = 6;
// Of the leaky ReLU.
inline constexpr float kLeakySlope = 0.01f;

// C[i][j] = start + Σ_k A(i, k)·B[k][j], and what comes after it. `a_row`, `a_step`, `b_row` and
// `c_row` are distances in floats: A(i, k) is a[i·a_row + k·a_step], so that a transposed or packed
// A costs nothing. No alignment is asked for; C overlaps neither A nor B.
struct MatrixProduct {
  const float* a = nullptr;
  size_t a_row = 0, a_step = 1;
  const float* b = nullptr;
  size_t b_row = 0;
  float* c = nullptr;
  size_t c_row = 0;
  size_t rows = 0, columns = 0, inner = 0;

  // What C starts from, one of these or 0.
  bool accumulate = false;          // C itself
  const float* bias = nullptr;      // [columns]
  const float* row_bias = nullptr;  // [rows]

  bool leaky = false;             // then the leaky ReLU
  const float* active = nullptr;  // [rows, columns] at c_row's distance: then times the slope where
                                  // it is not above 0, the gradient through a leaky ReLU of output
                                  // `active`
};

// Every element is one chain of fused multiply-adds over k = 0, 1, … from its start: its bits
// depend neither on its place, nor on its neighbours, nor on the instruction set, nor on how a
// product is cut into several along rows, columns or, by `accumulate`, k.
struct MatrixKernel {
  std::string_view name;  // "avx512", "avx2", "generic"
  void (*multiply)(const MatrixProduct& product);
};

// The implementations that this processor can run, fastest first.
std::vector<MatrixKernel> AvailableMatrixKernels();

void MultiplyGeneric(const MatrixProduct& product);
void MultiplyAvx2(const MatrixProduct& product);
void MultiplyAvx512(const MatrixProduct& product);

}  // namespace vixen::kernels
