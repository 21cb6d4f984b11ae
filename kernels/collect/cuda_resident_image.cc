// SPDX-License-Identifier: Apache-2.0
#include "kernels/collect/cuda_resident_image.h"

#include <cuda_fp16.h>

#include <algorithm>
#include <cstring>

#include "kernels/collect/cuda_half.h"
#include "kernels/env/settings.h"

namespace vixen::kernels::resident {
namespace {

constexpr float kLowScale = 2048.0f;

// Rounded to tf32's 11 significant bits, ties away from zero.
uint32_t Tf32Bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return (bits + 0x1000u) & 0xffffe000u;
}

// Word `part` (0 as it is or the high halves, 1 the low halves) of two neighbouring columns.
uint32_t HalfPair(float first, float second, int part) {
  uint32_t word = 0;
  const float values[2] = {first, second};
  for (int u = 0; u < 2; ++u) {
    uint16_t bits = HalfBits(values[u]);
    if (part == 1) {
      const float high = __half2float(__ushort_as_half(bits));
      bits = HalfBits((values[u] - high) * kLowScale);
    }
    word |= uint32_t{bits} << (16 * u);
  }
  return word;
}

// `weight(row, column)` of a block of 16 × 16.
template <typename Weight>
void WriteFragment(tile::Operand operand, int index, const Weight& weight, std::byte* image) {
  const int words = FragmentWords(operand);
  for (int lane = 0; lane < 32; ++lane) {
    for (int w = 0; w < words; ++w) {
      const int part = w / 4;
      const int row = lane / 4 + (w & 1) * 8;
      const int pair = w % 4 / 2;
      const int column = 4 * (lane % 4);
      const uint32_t word =
          operand == tile::Operand::kTf32
              ? Tf32Bits(weight(row, column + 2 * part + pair))
              : HalfPair(weight(row, column + 2 * pair), weight(row, column + 2 * pair + 1), part);
      const size_t at = (size_t(index * (words / 4) + part) * 32 + lane) * 16 + w % 4 * 4;
      std::memcpy(image + at, &word, sizeof(word));
    }
  }
}

}  // namespace

void WriteImage(tile::Operand operand, int features, const WeightSource& weight, std::byte* out) {
  if (operand == tile::Operand::kTf32) {
    WriteImage(tile::Operand::kFp16, features, weight, out + HalvesOffset(operand));
  }
  const auto fragment = [&](int index, const auto& source) {
    WriteFragment(operand, index, source, out);
  };
  for (int warp = 0; warp < kWarps; ++warp) {
    for (int block = 0; block < 2; ++block) {
      for (int group = 0; group < kGroups0; ++group) {
        fragment(Fragment0(warp, block, group), [&](int row, int k) {
          const int column = kGroup * group + k;
          return column < features ? weight(0, Neuron0(warp, block, row), column) : 0.0f;
        });
      }
    }
  }
  for (int rank = 0; rank < kCluster; ++rank) {
    for (int warp = 0; warp < kWarps; ++warp) {
      for (int group = 0; group < kGroups1; ++group) {
        fragment(Fragment1(rank, warp, group), [&](int row, int k) {
          return weight(1, 128 * rank + Neuron(warp, row), kGroup * group + k);
        });
        fragment(Fragment2(rank, warp, group), [&](int row, int k) {
          return weight(2, StreamRow(rank, Neuron(warp, row)), kGroup * group + k);
        });
      }
    }
    for (int block = 0; block < kBlocks3; ++block) {
      for (int group = 0; group < kGroups3; ++group) {
        fragment(Fragment3(rank, block, group), [&](int row, int k) {
          const int input = 64 * rank + kGroup * group + k;
          if (block < 3) return weight(3, 16 * block + row, input);
          return row == 0 ? weight(4, 0, input) : 0.0f;
        });
      }
    }
  }
  std::byte* portfolio = out + PortfolioOffset(operand);
  for (int neuron = 0; neuron < tile::kHidden; ++neuron) {
    float row[4] = {};
    for (int i = 0; i < kPortfolioFeatures; ++i) row[i] = weight(0, neuron, features + i);
    std::memcpy(portfolio + neuron * sizeof(row), row, sizeof(row));
  }
}

}  // namespace vixen::kernels::resident
