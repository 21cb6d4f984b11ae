// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "proto/codec/batch_decoder.h"

namespace vixen::codec {
namespace {

constexpr uint8_t kKnownFlags = 63;

float FloatAt(std::span<const std::byte> column, size_t index) {
  float value;
  std::memcpy(&value, column.data() + index * sizeof(float), sizeof(float));
  return value;
}

absl::Status CheckFinite(const kernels::Batch& batch, const kernels::ColumnSpec& spec) {
  const std::span<const std::byte> column = batch.Column(spec.id);
  const size_t values = column.size() / sizeof(float);
  for (size_t i = 0; i < values; ++i) {
    const float value = FloatAt(column, i);
    if (!std::isfinite(value) || (spec.id == kernels::ColumnId::kTd && value < 0.0f)) {
      return absl::InvalidArgumentError(
          base::StrCat("row ", i / spec.width, ": ", spec.name, " is ", value));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckRows(const kernels::Batch& batch) {
  const std::span<const std::byte> flags = batch.Column(kernels::ColumnId::kFlags);
  const std::span<const std::byte> actions = batch.Column(kernels::ColumnId::kAction);
  uint64_t valid = 0;
  for (size_t row = 0; row < flags.size(); ++row) {
    const auto flag = static_cast<uint8_t>(flags[row]);
    const auto action = static_cast<uint8_t>(actions[row]);
    const bool both =
        (flag & kernels::kFlagTerminated) != 0 && (flag & kernels::kFlagTruncated) != 0;
    const bool set_without_valid = flag != 0 && (flag & kernels::kFlagValid) == 0;
    if ((flag & ~kKnownFlags) != 0 || both || set_without_valid) {
      return absl::InvalidArgumentError(base::StrCat("row ", row, ": flags are ", flag));
    }
    if (action >= kernels::kActions) {
      return absl::InvalidArgumentError(base::StrCat("row ", row, ": action is ", action));
    }
    valid += flag & kernels::kFlagValid;
  }
  for (const kernels::ColumnSpec& spec : kernels::kColumns) {
    if (spec.type == kernels::ElementType::kF32) VIXEN_RETURN_IF_ERROR(CheckFinite(batch, spec));
  }
  if (valid != batch.statistics.valid_rows) {
    return absl::InvalidArgumentError(base::StrCat(
        "statistics.valid_rows is ", batch.statistics.valid_rows, ", the flags say ", valid));
  }
  return absl::OkStatus();
}

}  // namespace vixen::codec
