// SPDX-License-Identifier: Apache-2.0
#include "kernels/nn/fused.h"
#include "kernels/nn/matrix_kernel.h"

namespace vixen::kernels {
namespace {

// Four lanes in plain C++: for processors without AVX2, and what the others are compared with.
struct PlainVector {
  static constexpr size_t kLanes = 4;
  struct Register {
    float lane[kLanes];
  };
  static Register Broadcast(float x) { return {{x, x, x, x}}; }
  static Register Load(const float* from) { return {{from[0], from[1], from[2], from[3]}}; }
  static void Store(float* to, const Register& x) {
    for (size_t i = 0; i < kLanes; ++i) to[i] = x.lane[i];
  }
  static Register MultiplyAdd(const Register& a, const Register& b, const Register& c) {
    Register sum;
    for (size_t i = 0; i < kLanes; ++i) sum.lane[i] = Fused(a.lane[i], b.lane[i], c.lane[i]);
    return sum;
  }
  static Register LeakyRelu(const Register& x) { return LeakyGradient(x, x); }
  static Register LeakyGradient(const Register& x, const Register& active) {
    Register y;
    for (size_t i = 0; i < kLanes; ++i) {
      y.lane[i] = active.lane[i] > 0.0f ? x.lane[i] : kLeakySlope * x.lane[i];
    }
    return y;
  }
};

}  // namespace

void MultiplyGeneric(const MatrixProduct& product) { Multiply<PlainVector, 4>(product); }

}  // namespace vixen::kernels
