// SPDX-License-Identifier: Apache-2.0
#include "kernels/collect/cuda_tile_image.h"

#include <cstdint>
#include <cstring>

#include "kernels/collect/cuda_half.h"
#include "kernels/collect/cuda_mma_image.h"
#include "kernels/collect/cuda_mma_layout.h"
#include "kernels/collect/cuda_tile_source.h"

namespace vixen::kernels {
namespace {

using tile::Operand;

// Rounded to tf32's 11 significant bits, ties away from zero.
float Tf32Part(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  bits = (bits + 0x1000u) & 0xffffe000u;
  std::memcpy(&value, &bits, sizeof(bits));
  return value;
}

// Appends swizzled tiles of rows × inputs. `weight(row, k)`, `scale` a power of two.
class TileWriter {
 public:
  explicit TileWriter(std::byte* out) : out_(out) {}

  template <typename Weight>
  void Write(Operand operand, int rows, int inputs, float scale, const Weight& weight) {
    const int tile_inputs = tile::TileInputs(operand);
    for (int row = 0; row < rows; ++row) {
      for (int k = 0; k < inputs; ++k) {
        std::byte* at = out_ + tile::TileBytes(rows) * (k / tile_inputs);
        Put(operand, at, row, k % tile_inputs, weight(row, k) * scale);
      }
    }
    out_ += tile::TileBytes(rows) * inputs / tile_inputs;
  }

 private:
  static void Put(Operand operand, std::byte* at, int row, int k, float value) {
    if (operand == Operand::kTf32) {
      const float rounded = Tf32Part(value);
      std::memcpy(at + tile::TileOffset(row, 4 * k), &rounded, sizeof(rounded));
      return;
    }
    PutHalf(at + tile::TileOffset(row, 2 * k), value);
    if (operand == Operand::kSplit) {
      PutHalf(at + tile::TileOffset(row, 64 + 2 * k), value - HalfPart(value));
    }
  }
  static void PutHalf(std::byte* at, float value) {
    const uint16_t bits = HalfBits(value);
    std::memcpy(at, &bits, sizeof(bits));
  }

  std::byte* out_;
};

// Neuron of the layer before at position k.
int NeuronOf(Operand operand, int k) { return operand == Operand::kTf32 ? tile::Tf32Neuron(k) : k; }

void WriteNetwork(const TileSource& source, Operand operand, const TileExponents& e,
                  std::byte* out) {
  TileWriter writer(out);
  const int inputs = tile::TileInputs(operand);
  for (int first = 0; first < tile::kHidden; first += inputs) {
    writer.Write(
        tile::StateOperand(operand), inputs, tile::kStateWidth, PowerOfTwo(e.weights[0]),
        [&](int row, int k) { return source.StateWeight(first + row, tile::StateColumn(k)); });
    writer.Write(operand, tile::kHidden, inputs, PowerOfTwo(e.weights[1]), [&](int row, int k) {
      return source.Weight(TileSource::kShared1, row, NeuronOf(operand, first + k));
    });
  }
  for (const size_t stream : {TileSource::kValue0, TileSource::kAdvantage0}) {
    writer.Write(operand, tile::kStream, tile::kHidden, PowerOfTwo(e.weights[2]),
                 [&](int row, int k) { return source.Weight(stream, row, NeuronOf(operand, k)); });
  }
  writer.Write(operand, tile::kOutputs, tile::kStream, PowerOfTwo(e.weights[3]),
               [&](int row, int k) {
                 return source.Weight(TileSource::kAdvantage1, row, NeuronOf(operand, k));
               });
}

void WriteCuriosity(const TileSource& source, Operand operand, const TileExponents& e,
                    std::byte* out) {
  TileWriter writer(out);
  writer.Write(tile::StateOperand(operand), 64, tile::kStateWidth, PowerOfTwo(e.weights[0]),
               [&](int row, int k) { return source.CuriosityWeight(row, tile::StateColumn(k)); });
  writer.Write(operand, 32, 64, PowerOfTwo(e.weights[1]),
               [&](int row, int k) { return source.Weight(1, row, NeuronOf(operand, k)); });
}

// wgmma has tf32's own operands but for layer 0; mma.sync runs tf32 with scaled fp16.
TileScales ScalesOf(Operand operand, TileForm form) {
  if (operand == Operand::kFp16) return TileScales::kNone;
  return operand == Operand::kTf32 && form == TileForm::kSwizzled ? TileScales::kFirstLayer
                                                                  : TileScales::kAll;
}

}  // namespace

size_t TileImageTiles(WeightsKind kind, Operand operand, TileForm form) {
  const bool is_curiosity = kind == WeightsKind::kCuriosity;
  if (form == TileForm::kFragments && operand != Operand::kSplit) {
    return is_curiosity ? tile::kMmaCuriosityBytes : tile::kMmaNetworkBytes;
  }
  return is_curiosity ? tile::CuriosityBytes(operand) : tile::PassBytes(operand);
}

size_t TileImageBytes(WeightsKind kind, Operand operand, TileForm form) {
  return TileImageTiles(kind, operand, form) + (kind == WeightsKind::kCuriosity
                                                    ? sizeof(tile::CuriosityConstants)
                                                    : sizeof(tile::NetworkConstants));
}

void WriteTileImage(const Parameters& parameters, Operand operand, TileForm form,
                    const StateRange& states, std::byte* out) {
  const TileSource source(parameters);
  const TileExponents e =
      ExponentsOf(ScalesOf(operand, form), RangeOfNetwork(parameters, states), states);
  std::byte* const constants = out + TileImageTiles(parameters.kind, operand, form);
  const bool is_swizzled = form == TileForm::kSwizzled;
  if (parameters.kind == WeightsKind::kCuriosity) {
    const tile::CuriosityConstants floats = CuriosityConstantsOf(source, e);
    is_swizzled ? WriteCuriosity(source, operand, e, out)
                : WriteMmaCuriosity(source, operand, e, out);
    std::memcpy(constants, &floats, sizeof(floats));
  } else {
    const tile::NetworkConstants floats = NetworkConstantsOf(source, e);
    is_swizzled ? WriteNetwork(source, operand, e, out) : WriteMmaNetwork(source, operand, e, out);
    std::memcpy(constants, &floats, sizeof(floats));
  }
}

float StateScale(Operand operand, const StateRange& states) {
  return operand == Operand::kFp16 ? 1.0f : PowerOfTwo(SplitExponent(states.largest));
}

}  // namespace vixen::kernels
