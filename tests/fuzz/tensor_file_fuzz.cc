// SPDX-License-Identifier: Apache-2.0
// Bytes from outside as a tensor file, and as weights of the smallest network on top of it.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/tensor_file.h"
#include "kernels/nn/network.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  auto file = vixen::base::TensorFile::Parse(bytes, "fuzz");
  if (!file.ok()) return 0;
  size_t touched = 0;
  for (const auto& tensor : file->tensors()) {
    for (std::byte value : tensor.bytes) touched += static_cast<size_t>(value);
  }
  vixen::kernels::Architecture smallest;
  smallest.features = 1;
  smallest.hidden1 = smallest.hidden2 = 16;
  smallest.value_hidden = smallest.advantage_hidden = smallest.curiosity_hidden = 16;
  for (auto kind :
       {vixen::kernels::WeightsKind::kOnline, vixen::kernels::WeightsKind::kCuriosity}) {
    auto parameters = vixen::kernels::ReadParameters(*file, "", smallest, kind);
    if (parameters.ok()) touched += parameters->values.size();
  }
  auto implied = vixen::kernels::ArchitectureOf(*file, "online.");
  if (implied.ok()) touched += implied->features;
  return touched == SIZE_MAX ? 1 : 0;
}
