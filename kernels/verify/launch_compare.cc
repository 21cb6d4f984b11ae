// SPDX-License-Identifier: Apache-2.0
#include "kernels/verify/launch_compare.h"

#include <bit>
#include <cstdio>
#include <cstring>

#include "base/str_cat.h"

namespace vixen::kernels {
namespace {

template <typename T>
T At(std::span<const std::byte> column, size_t index) {
  T value;
  std::memcpy(&value, column.data() + index * sizeof(T), sizeof(T));
  return value;
}

std::string TextOf(const ColumnSpec& spec, std::span<const std::byte> column, size_t index) {
  switch (spec.type) {
    case ElementType::kU8:
      return std::to_string(At<uint8_t>(column, index));
    case ElementType::kU32:
      return std::to_string(At<uint32_t>(column, index));
    default:
      return ValueText(At<float>(column, index));
  }
}

}  // namespace

std::string ValueText(float value) {
  char text[48];
  std::snprintf(text, sizeof text, "%.9g (0x%08x)", static_cast<double>(value),
                std::bit_cast<uint32_t>(value));
  return text;
}

std::string LaunchFault::Describe(uint32_t steps) const {
  return base::StrCat("row ", slot * steps + step, " (slot ", slot, ", step ", step, "), column ",
                      column, ": recorded ", recorded, ", computed ", computed);
}

std::optional<LaunchFault> FirstDifference(const Batch& recorded, const Batch& computed) {
  for (size_t row = 0; row < recorded.rows(); ++row) {
    for (const ColumnSpec& spec : kColumns) {
      const std::span<const std::byte> ours = recorded.Column(spec.id);
      const std::span<const std::byte> theirs = computed.Column(spec.id);
      if (ours.empty() || theirs.empty()) continue;
      const size_t bytes = ElementBytes(spec.type);
      for (uint32_t k = 0; k < spec.width; ++k) {
        const size_t index = row * spec.width + k;
        if (std::memcmp(ours.data() + index * bytes, theirs.data() + index * bytes, bytes) == 0) {
          continue;
        }
        return LaunchFault{.slot = row / recorded.steps(),
                           .step = row % recorded.steps(),
                           .column = spec.width == 1 ? std::string(spec.name)
                                                     : base::StrCat(spec.name, "[", k, "]"),
                           .recorded = TextOf(spec, ours, index),
                           .computed = TextOf(spec, theirs, index)};
      }
    }
  }
  return std::nullopt;
}

}  // namespace vixen::kernels
