// SPDX-License-Identifier: Apache-2.0
#include "learner/trainer/matrix.h"

namespace vixen::learner {

void MultiplyGeneric(const MatrixProduct& p) {
  for (size_t i = 0; i < p.rows; ++i) {
    float* const c = p.c + i * p.c_row;
    if (!p.accumulate) {
      for (size_t j = 0; j < p.columns; ++j) c[j] = p.bias != nullptr ? p.bias[j] : 0.0f;
    }
    for (size_t k = 0; k < p.inner; ++k) {
      const float w = p.a[i * p.a_row + k * p.a_step];
      const float* const b = p.b + k * p.b_row;
      for (size_t j = 0; j < p.columns; ++j) c[j] += w * b[j];
    }
    for (size_t j = 0; j < p.columns; ++j) {
      if (p.leaky && !(c[j] > 0.0f)) c[j] *= kLeakySlope;
      if (p.active != nullptr && !(p.active[i * p.c_row + j] > 0.0f)) c[j] *= kLeakySlope;
    }
  }
}

}  // namespace vixen::learner
