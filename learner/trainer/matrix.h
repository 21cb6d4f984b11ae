// SPDX-License-Identifier: Apache-2.0
// The trainer's matrix products on the processor, with the instruction set chosen at run time.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace vixen::learner {

// Columns of every product are a multiple of this: the lanes of the widest register.
inline constexpr size_t kColumnMultiple = 16;
// Of the leaky ReLU.
inline constexpr float kLeakySlope = 0.01f;

// C[i][j] = start + Σ_k A(i, k)·B[k][j], and what comes after it. `a_row`, `a_step`, `b_row` and
// `c_row` are distances in floats: A(i, k) is a[i·a_row + k·a_step], so that a transposed A costs
// nothing. No alignment is asked for; C overlaps neither A nor B.
struct MatrixProduct {
  const float* a = nullptr;
  size_t a_row = 0, a_step = 1;
  const float* b = nullptr;
  size_t b_row = 0;
  float* c = nullptr;
  size_t c_row = 0;
  size_t rows = 0, columns = 0, inner = 0;

  bool accumulate = false;        // start from C instead of 0
  const float* bias = nullptr;    // [columns], start from it
  bool leaky = false;             // then the leaky ReLU
  const float* active = nullptr;  // [rows, columns] at c_row's distance: then times the slope where
                                  // it is not above 0, the gradient through a leaky ReLU of output
                                  // `active`
};

// Every implementation adds along k in one chain from 0 upwards, the vector ones by fused
// multiply-adds, so that these two give the same bits.
struct MatrixKernel {
  std::string_view name;  // "avx512", "avx2", "generic"
  void (*multiply)(const MatrixProduct& product);
};

// The implementations that this processor can run, fastest first.
std::vector<MatrixKernel> AvailableMatrixKernels();

void MultiplyGeneric(const MatrixProduct& product);
void MultiplyAvx2(const MatrixProduct& product);
void MultiplyAvx512(const MatrixProduct& product);

}  // namespace vixen::learner
