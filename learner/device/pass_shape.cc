// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "learner/device/network_kernels.h"
#include "learner/device/tile_layout.h"

namespace vixen::learner {
namespace {

// Of a wgmma pass with 192 rows, the largest.
constexpr size_t kTileShared = (192 + 32 + 2) * 1024;
// Minibatches from which wgmma is faster.
constexpr uint32_t kTileRows = 1024;

// Rows a block of a pass over `first` rows of one network and `second` of another: the fewer time
// units win, of which a block takes as many as it has rows, and some for all that does not depend
// on them (measured: blocks of 64, 128 and 192 rows take 16, 24 and 33 µs).
int ChooseTileRows(uint32_t first, uint32_t second, uint32_t multiprocessors) {
  constexpr uint32_t kEach = 64;
  uint32_t best = 0, least = 0;
  for (const uint32_t block : {64u, 128u, 192u}) {
    const uint32_t blocks = (first + block - 1) / block + (second + block - 1) / block;
    const uint32_t time = (blocks + multiprocessors - 1) / multiprocessors * (block + kEach);
    if (best == 0 || time < least) {
      best = block;
      least = time;
    }
  }
  return static_cast<int>(best);
}

// Parts of the rows for the weights' gradients: blocks that read about as much each, at most one a
// multiprocessor.
void ChooseSplits(const DeviceNetwork& network, uint32_t rows, uint32_t multiprocessors,
                  PassShape& shape) {
  constexpr uint32_t kOutputs = 128, kRowBlock = tile::kRowBlock;
  const uint32_t blocks = rows / kRowBlock;
  for (uint32_t most = 1;; ++most) {
    uint32_t count = 0, splits = 0;
    for (uint32_t l = 0; l < DeviceNetwork::kLayers; ++l) {
      const DeviceLayer& layer = network.layers[l];
      const uint32_t read = std::min(kOutputs, tile::PaddedFeatures(layer.outputs)) +
                            tile::PaddedFeatures(layer.inputs);
      const uint32_t part = std::max(1u, most * (kOutputs + 256) / read);
      const uint32_t parts = (blocks + part - 1) / part;
      shape.split_rows[l] = part * kRowBlock;
      splits = std::max(splits, parts);
      count += parts * ((layer.outputs + kOutputs - 1) / kOutputs);
    }
    shape.splits = static_cast<int>(splits);
    if (count <= multiprocessors || most >= blocks) return;
  }
}

}  // namespace

size_t ElementBytes(DevicePrecision precision) {
  return precision == DevicePrecision::kBf16 ? 2 : 4;
}

// Whole chunks of the weights' gradients and whole blocks of every pass.
uint32_t PaddedRows(uint32_t batch) { return (batch + 63) / 64 * 64; }

uint32_t PassShape::splits_of(uint32_t layer, uint32_t rows) const {
  const auto most = static_cast<uint32_t>(splits);
  return wgmma ? std::min(most, (rows + split_rows[layer] - 1) / split_rows[layer]) : most;
}

PassShape ChoosePassShape(const DeviceNetwork& network, DevicePrecision precision, uint32_t rows,
                          const PassDevice& device, PassAlgorithm algorithm) {
  PassShape shape;
  shape.precision = precision;
  uint32_t widest = network.widest;
  for (const DeviceLayer& layer : network.layers) widest = std::max(widest, layer.outputs);
  shape.tiles = widest <= 256 ? 1 : 4;
  shape.wgmma = device.capability == 90 && precision == DevicePrecision::kTf32 && widest <= 256 &&
                device.shared_bytes >= kTileShared &&
                (algorithm == PassAlgorithm::kWgmma ||
                 (algorithm == PassAlgorithm::kBest && rows >= kTileRows));
  const auto multiprocessors = static_cast<uint32_t>(device.multiprocessors);
  if (shape.wgmma) {
    shape.forward_rows = ChooseTileRows(2 * rows, rows, multiprocessors);
    shape.backward_rows = ChooseTileRows(rows, 0, multiprocessors);
    ChooseSplits(network, rows, multiprocessors, shape);
    return shape;
  }

  // More rows a block read the weights less often; fewer keep every multiprocessor busy.
  const size_t row = PassRowBytes(network.widest, static_cast<uint32_t>(ElementBytes(precision)));
  const auto fits = [&](uint32_t block) { return block * row + 2048 <= device.shared_bytes; };
  const auto blocks = [&](uint32_t parts, uint32_t block) { return parts * rows / block; };
  const uint32_t busy = multiprocessors / 2;
  const auto choose = [&](uint32_t parts) {
    if (shape.tiles == 4 || precision == DevicePrecision::kFp32) return 16;
    if (fits(64) && blocks(parts, 64) >= 2 * busy) return 64;
    if (fits(32) && blocks(parts, 32) >= busy) return 32;
    return 16;
  };
  shape.forward_rows = choose(3);
  shape.backward_rows = choose(1);
  shape.splits = static_cast<int>(std::min<uint32_t>(8, rows / 64));
  return shape;
}

}  // namespace vixen::learner
