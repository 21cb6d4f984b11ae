// SPDX-License-Identifier: Apache-2.0
// MatrixProduct as a template over the vector registers. Included only by matrix_generic.cc,
// matrix_avx2.cc and matrix_avx512.cc, each compiled for its instruction set.
//
// A tile of C stays in registers while k runs: each step loads a few registers of B's row and
// multiplies them by one broadcast number of A for each row of the tile. B is not packed: the
// blocks of executor and trainer fit into the second cache, and B's rows are read in the order they
// lie in.
#pragma once

#include <cstddef>

#include "kernels/nn/matrix.h"

namespace vixen::kernels {
namespace {

template <typename Vector, int kRows, int kVectors>
inline void MultiplyTile(const MatrixProduct& p, size_t i, size_t j) {
  using Register = typename Vector::Register;
  float* const c = p.c + i * p.c_row + j;
  Register sum[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      const size_t at = v * Vector::kLanes;
      sum[r][v] = p.accumulate            ? Vector::Load(c + r * p.c_row + at)
                  : p.bias != nullptr     ? Vector::Load(p.bias + j + at)
                  : p.row_bias != nullptr ? Vector::Broadcast(p.row_bias[i + r])
                                          : Vector::Broadcast(0.0f);
    }
  }
  const float* a = p.a + i * p.a_row;
  const float* b = p.b + j;
  for (size_t k = 0; k < p.inner; ++k) {
    Register x[kVectors];
    for (int v = 0; v < kVectors; ++v) x[v] = Vector::Load(b + v * Vector::kLanes);
    for (int r = 0; r < kRows; ++r) {
      const Register w = Vector::Broadcast(a[r * p.a_row]);
      for (int v = 0; v < kVectors; ++v) sum[r][v] = Vector::MultiplyAdd(w, x[v], sum[r][v]);
    }
    a += p.a_step;
    b += p.b_row;
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      Register y = sum[r][v];
      const size_t at = r * p.c_row + v * Vector::kLanes;
      if (p.leaky) y = Vector::LeakyRelu(y);
      if (p.active != nullptr) {
        y = Vector::LeakyGradient(y, Vector::Load(p.active + i * p.c_row + j + at));
      }
      Vector::Store(c + at, y);
    }
  }
}

template <typename Vector, int kVectors>
void MultiplyPanel(const MatrixProduct& p, size_t j) {
  static_assert(kTileRows == 6);  // the rests below
  size_t i = 0;
  for (; i + kTileRows <= p.rows; i += kTileRows)
    MultiplyTile<Vector, kTileRows, kVectors>(p, i, j);
  switch (p.rows - i) {
    case 5:
      MultiplyTile<Vector, 5, kVectors>(p, i, j);
      break;
    case 4:
      MultiplyTile<Vector, 4, kVectors>(p, i, j);
      break;
    case 3:
      MultiplyTile<Vector, 3, kVectors>(p, i, j);
      break;
    case 2:
      MultiplyTile<Vector, 2, kVectors>(p, i, j);
      break;
    case 1:
      MultiplyTile<Vector, 1, kVectors>(p, i, j);
      break;
    default:
      break;
  }
}

// Tiles of kTileRows × kVectors registers; kVectors a power of two times kColumnMultiple / kLanes.
template <typename Vector, int kVectors>
void Multiply(const MatrixProduct& p) {
  constexpr int kLeast = kColumnMultiple / Vector::kLanes;
  size_t j = 0;
  for (; j + kVectors * Vector::kLanes <= p.columns; j += kVectors * Vector::kLanes) {
    MultiplyPanel<Vector, kVectors>(p, j);
  }
  if constexpr (kVectors > 2 * kLeast) {
    for (; j + 2 * kColumnMultiple <= p.columns; j += 2 * kColumnMultiple) {
      MultiplyPanel<Vector, 2 * kLeast>(p, j);
    }
  }
  for (; j < p.columns; j += kColumnMultiple) MultiplyPanel<Vector, kLeast>(p, j);
}

}  // namespace
}  // namespace vixen::kernels
