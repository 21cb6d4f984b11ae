// SPDX-License-Identifier: Apache-2.0
#include "kernels/nn/matrix.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/nn/fused.h"

namespace vixen::kernels {
namespace {

struct Size {
  size_t rows, columns, inner;
};

std::vector<float> Random(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& x : values) x = normal(random);
  return values;
}

// +0 and −0 are different bits, and a NaN is like itself.
bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

constexpr Size kSizes[] = {{1, 16, 1}, {5, 32, 7}, {6, 48, 54}, {23, 112, 33}, {64, 64, 96}};

// What a product starts from, and what comes after it.
enum Variant { kPlain, kAccumulate, kBiasAndLeaky, kRowBias, kActive, kVariants };

// A product with its operands and where C lies.
struct Case {
  Case(Size size, bool transposed, int variant)
      : size(size),
        variant(variant),
        a_row(transposed ? 1 : size.inner + 3),
        a_step(transposed ? size.rows : 1),
        a(Random((size.rows + 3) * (size.inner + 3), 1)),
        b(Random(size.inner * (size.columns + 1), 2)),
        bias(Random(size.columns, 3)),
        row_bias(Random(size.rows, 6)),
        active(Random(size.rows * size.columns, 4)),
        before(Random(size.rows * size.columns, 5)) {}

  // Along k in `parts` products.
  std::vector<float> Run(const MatrixKernel& kernel, size_t parts = 1) const {
    std::vector<float> c = before;
    for (size_t part = 0; part < parts; ++part) {
      const size_t begin = size.inner * part / parts, end = size.inner * (part + 1) / parts;
      const bool first = part == 0, last = part + 1 == parts;
      kernel.multiply({.a = a.data() + begin * a_step,
                       .a_row = a_row,
                       .a_step = a_step,
                       .b = b.data() + begin * (size.columns + 1),
                       .b_row = size.columns + 1,
                       .c = c.data(),
                       .c_row = size.columns,
                       .rows = size.rows,
                       .columns = size.columns,
                       .inner = end - begin,
                       .accumulate = variant == kAccumulate || !first,
                       .bias = variant == kBiasAndLeaky && first ? bias.data() : nullptr,
                       .row_bias = variant == kRowBias && first ? row_bias.data() : nullptr,
                       .leaky = variant == kBiasAndLeaky && last,
                       .active = variant == kActive && last ? active.data() : nullptr});
    }
    return c;
  }
  double Expected(size_t i, size_t j) const {
    const size_t at = i * size.columns + j;
    double sum = variant == kAccumulate     ? before[at]
                 : variant == kBiasAndLeaky ? bias[j]
                 : variant == kRowBias      ? row_bias[i]
                                            : 0.0;
    for (size_t k = 0; k < size.inner; ++k) {
      sum += static_cast<double>(a[i * a_row + k * a_step]) * b[k * (size.columns + 1) + j];
    }
    if (variant == kBiasAndLeaky && sum < 0) sum *= kLeakySlope;
    if (variant == kActive && active[at] <= 0) sum *= kLeakySlope;
    return sum;
  }

  const Size size;
  const int variant;
  const size_t a_row, a_step;
  const std::vector<float> a, b, bias, row_bias, active, before;
};

class Kernels : public testing::TestWithParam<MatrixKernel> {};

// Widths of one, two and four registers with what is left over, rows of whole tiles and not.
TEST_P(Kernels, MultiplyAsInDoubles) {
  for (const Size size : kSizes) {
    for (const bool transposed : {false, true}) {
      for (int variant = 0; variant < kVariants; ++variant) {
        const Case product(size, transposed, variant);
        const std::vector<float> c = product.Run(GetParam());
        for (size_t i = 0; i < size.rows; ++i) {
          for (size_t j = 0; j < size.columns; ++j) {
            ASSERT_NEAR(c[i * size.columns + j], product.Expected(i, j), 2e-5)
                << "variant " << variant << ", row " << i << ", column " << j << ", inner "
                << size.inner;
          }
        }
      }
    }
  }
}

TEST_P(Kernels, GiveTheBitsOfThePlainOneHoweverTheProductIsCut) {
  const MatrixKernel plain = AvailableMatrixKernels().back();
  for (const Size size : kSizes) {
    for (int variant = 0; variant < kVariants; ++variant) {
      const Case product(size, variant % 2 == 0, variant);
      const std::vector<float> expected = product.Run(plain);
      EXPECT_TRUE(SameBits(product.Run(GetParam()), expected)) << "variant " << variant;
      EXPECT_TRUE(SameBits(product.Run(GetParam(), 3), expected)) << "variant " << variant;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OfThisProcessor, Kernels, testing::ValuesIn(AvailableMatrixKernels()),
                         [](const auto& kernel) { return std::string(kernel.param.name); });

TEST(FusedInDoubles, RoundsOnceAsTheLibrarysDoes) {
  std::mt19937_64 random(1);
  const auto any = [&] { return std::bit_cast<float>(static_cast<uint32_t>(random())); };
  const auto near_one = [&] { return 1.0f + static_cast<float>(random() % 4096) * 0x1p-23f; };
  const auto check = [](float a, float b, float c) {
    const float expected = std::fma(a, b, c), fused = FusedInDoubles(a, b, c);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(fused)) << a << " " << b << " " << c;
    } else {
      ASSERT_EQ(fused, expected) << a << " " << b << " " << c;
      ASSERT_EQ(std::signbit(fused), std::signbit(expected)) << a << " " << b << " " << c;
    }
  };
  for (int i = 0; i < 300'000; ++i) {
    check(any(), any(), any());
    // Ties and what lies beside them; cancellation.
    const float a = near_one(), b = near_one();
    const float size = std::ldexp(1.0f, static_cast<int>(random() % 60) - 30);
    check(a, b, size * near_one());
    check(a, b, -size * near_one());
    check(a, b, -(a * b));
    // Results that are no normal numbers.
    check(a * 0x1p-70f, b * 0x1p-70f, std::ldexp(near_one(), -140));
    check(a * 0x1p-75f, -b * 0x1p-75f, std::ldexp(near_one(), -149));
  }
  constexpr float kMost = std::numeric_limits<float>::max();
  for (const float c : {-kMost, -1.0f, -0.0f, 0.0f, 1.0f, kMost, INFINITY}) {
    check(kMost, 2.0f, c);
    check(0.0f, -1.0f, c);
    check(INFINITY, -1.0f, c);
  }
}

}  // namespace
}  // namespace vixen::kernels
