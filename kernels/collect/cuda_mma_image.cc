// SPDX-License-Identifier: Apache-2.0
#include "kernels/collect/cuda_mma_image.h"

#include <cstdint>
#include <cstring>

#include "kernels/collect/cuda_half.h"
#include "kernels/collect/cuda_mma_layout.h"
#include "kernels/collect/cuda_split_layout.h"

namespace vixen::kernels {
namespace {

using tile::Operand;

// Appends fragments. `weight(neuron, k)`, `scale` a power of two.
class FragmentWriter {
 public:
  explicit FragmentWriter(std::byte* out) : out_(out) {}

  // `groups` blocks of 16 neurons × 16 inputs from `first` on, of each weight the high part, or
  // with `low` what fp16 leaves of it.
  template <typename Weight>
  void WriteUnit(int groups, int first, float scale, bool low, const Weight& weight) {
    for (int neuron = 0; neuron < 16 * groups; ++neuron) {
      for (int k = 0; k < 16; ++k) {
        const float value = weight(neuron, first + k) * scale;
        const uint16_t bits = HalfBits(low ? value - HalfPart(value) : value);
        std::memcpy(
            out_ + neuron / 16 * tile::kMmaFragmentBytes + tile::MmaFragmentOffset(neuron % 16, k),
            &bits, sizeof(bits));
      }
    }
    out_ += groups * tile::kMmaFragmentBytes;
  }
  // Step by step.
  template <typename Weight>
  void Write(int groups, int inputs, float scale, const Weight& weight) {
    for (int first = 0; first < inputs; first += 16) {
      WriteUnit(groups, first, scale, false, weight);
    }
  }
  template <typename Weight>
  void WriteParts(int groups, int inputs, float scale, const Weight& weight) {
    for (int first = 0; first < inputs; first += 16) {
      WriteUnit(groups, first, scale, false, weight);
      WriteUnit(groups, first, scale, true, weight);
    }
  }

 private:
  std::byte* out_;
};

// Layers 0 and 1 of a split network: cuda_split_layout.h.
void WriteSplitChunks(const TileSource& source, const TileExponents& e, FragmentWriter& writer) {
  const auto write_layer0 = [&](int chunk, int from, int inputs) {
    for (int first = from; first < from + inputs; first += 16) {
      for (const bool low : {false, true}) {
        writer.WriteUnit(1, first, PowerOfTwo(e.weights[0]), low, [&](int neuron, int k) {
          return source.StateWeight(tile::kSplitChunk * chunk + neuron, tile::StateColumn(k));
        });
      }
    }
  };
  write_layer0(0, 0, tile::kStateWidth);
  for (int chunk = 0; chunk < tile::kSplitChunks; ++chunk) {
    for (int stage = 0; stage < tile::kSplitChunkStages; ++stage) {
      constexpr int kShare = tile::kStateWidth / tile::kSplitChunkStages;
      if (chunk + 1 < tile::kSplitChunks) write_layer0(chunk + 1, stage * kShare, kShare);
      writer.WriteUnit(
          tile::kHidden / 16, tile::kSplitChunk * chunk, PowerOfTwo(e.weights[1]), stage == 1,
          [&](int neuron, int k) { return source.Weight(TileSource::kShared1, neuron, k); });
    }
  }
}

void WriteSplitNetwork(const TileSource& source, const TileExponents& e, std::byte* out) {
  FragmentWriter writer(out);
  WriteSplitChunks(source, e, writer);
  for (const size_t stream : {TileSource::kValue0, TileSource::kAdvantage0}) {
    writer.WriteParts(tile::kStream / 16, tile::kHidden, PowerOfTwo(e.weights[2]),
                      [&](int neuron, int k) { return source.Weight(stream, neuron, k); });
  }
  writer.WriteParts(
      tile::kOutputs / 16, tile::kStream, PowerOfTwo(e.weights[3]),
      [&](int output, int k) { return source.Weight(TileSource::kAdvantage1, output, k); });
}

}  // namespace

void WriteMmaNetwork(const TileSource& source, Operand operand, const TileExponents& e,
                     std::byte* out) {
  if (operand == Operand::kSplit) return WriteSplitNetwork(source, e, out);
  FragmentWriter writer(out);
  // Of the two streams of layer 2 side by side.
  const auto stream_weight = [&](int neuron, int k) {
    return neuron < tile::kStream
               ? source.Weight(TileSource::kValue0, neuron, k)
               : source.Weight(TileSource::kAdvantage0, neuron - tile::kStream, k);
  };
  for (int warp = 0; warp < tile::kMmaWarps; ++warp) {
    const auto write_halves = [&](int inputs, float scale, const auto& weight) {
      for (int half = 0; half < tile::kMmaHalves; ++half) {
        const int first = warp * tile::kMmaNeurons + half * tile::kMmaGroups * 16;
        writer.Write(tile::kMmaGroups, inputs, scale,
                     [&](int neuron, int k) { return weight(first + neuron, k); });
      }
    };
    write_halves(tile::kStateWidth, PowerOfTwo(e.weights[0]), [&](int neuron, int k) {
      return source.StateWeight(neuron, tile::StateColumn(k));
    });
    write_halves(tile::kHidden, PowerOfTwo(e.weights[1]),
                 [&](int neuron, int k) { return source.Weight(TileSource::kShared1, neuron, k); });
    write_halves(tile::kHidden, PowerOfTwo(e.weights[2]), stream_weight);
  }
  writer.Write(
      tile::kOutputs / 16, tile::kStream, PowerOfTwo(e.weights[3]),
      [&](int output, int k) { return source.Weight(TileSource::kAdvantage1, output, k); });
}

void WriteMmaCuriosity(const TileSource& source, Operand operand, const TileExponents& e,
                       std::byte* out) {
  FragmentWriter writer(out);
  const auto write = [&](int groups, float scale, const auto& weight) {
    if (operand == Operand::kSplit) {
      writer.WriteParts(groups, 64, scale, weight);
    } else {
      writer.Write(groups, 64, scale, weight);
    }
  };
  write(4, PowerOfTwo(e.weights[0]),
        [&](int neuron, int k) { return source.CuriosityWeight(neuron, tile::StateColumn(k)); });
  write(2, PowerOfTwo(e.weights[1]),
        [&](int neuron, int k) { return source.Weight(1, neuron, k); });
}

}  // namespace vixen::kernels
