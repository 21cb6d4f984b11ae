// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "learner/device/network_kernels.h"

namespace vixen::learner {
namespace {

uint32_t RowBytes(const DeviceNetwork& network, size_t element) {
  return std::max<uint32_t>(208, network.widest * static_cast<uint32_t>(element) + 16);
}

}  // namespace

size_t ElementBytes(DevicePrecision precision) {
  return precision == DevicePrecision::kBf16 ? 2 : 4;
}

// Whole chunks of the weights' gradients and whole blocks of every pass.
uint32_t PaddedRows(uint32_t batch) { return (batch + 63) / 64 * 64; }

PassShape ChoosePassShape(const DeviceNetwork& network, DevicePrecision precision, uint32_t rows,
                          int multiprocessors, size_t shared_bytes) {
  PassShape shape;
  shape.precision = precision;
  uint32_t widest = network.widest;
  for (const DeviceLayer& layer : network.layers) widest = std::max(widest, layer.outputs);
  shape.tiles = widest <= 256 ? 1 : 4;

  // More rows a block read the weights less often; fewer keep every multiprocessor busy.
  const auto fits = [&](uint32_t block) {
    return size_t{block} * RowBytes(network, ElementBytes(precision)) + 2048 <= shared_bytes;
  };
  const auto blocks = [&](uint32_t parts, uint32_t block) { return parts * rows / block; };
  const auto busy = static_cast<uint32_t>(multiprocessors) / 2;
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
