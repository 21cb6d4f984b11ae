// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "proto/codec/batch_decoder.h"

namespace vixen::codec {
namespace {

constexpr uint8_t kKnownFlags = 63;
constexpr uint32_t kSign = 0x80000000;
constexpr uint32_t kInfinity = 0x7f800000;

template <typename T>
T At(std::span<const std::byte> column, size_t index) {
  T value;
  std::memcpy(&value, column.data() + index * sizeof(T), sizeof(T));
  return value;
}

bool FlagsAreWrong(uint8_t flag) {
  const bool both = (flag & kernels::kFlagTerminated) != 0 && (flag & kernels::kFlagTruncated) != 0;
  const bool set_without_valid = flag != 0 && (flag & kernels::kFlagValid) == 0;
  return (flag & ~kKnownFlags) != 0 || both || set_without_valid;
}

// Every batch goes through here, so each column is first judged as a whole, in loops without
// branches that the compiler vectorises; only a column with a fault is searched for it.
absl::Status CheckFloats(const kernels::Batch& batch, const kernels::ColumnSpec& spec) {
  const std::span<const std::byte> column = batch.Column(spec.id);
  const size_t values = column.size() / sizeof(float);
  // Without its sign a finite value's bits are below those of infinity. What is left of the bits of
  // a negative value when its sign is shifted out is 0 for −0 only.
  uint32_t largest = 0;
  uint32_t negative = 0;
  for (size_t i = 0; i < values; ++i) {
    const auto bits = At<uint32_t>(column, i);
    largest = std::max(largest, bits & ~kSign);
    negative |= static_cast<uint32_t>(static_cast<int32_t>(bits) >> 31) & (bits << 1);
  }
  const bool may_be_negative = spec.id != kernels::ColumnId::kTd;
  if (largest < kInfinity && (may_be_negative || negative == 0)) return absl::OkStatus();
  for (size_t i = 0; i < values; ++i) {
    const auto value = At<float>(column, i);
    if (!std::isfinite(value) || (!may_be_negative && value < 0.0f)) {
      return absl::InvalidArgumentError(
          base::StrCat("row ", i / spec.width, ": ", spec.name, " is ", value));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckFlagsAndActions(const kernels::Batch& batch) {
  const std::span<const std::byte> flags = batch.Column(kernels::ColumnId::kFlags);
  const std::span<const std::byte> actions = batch.Column(kernels::ColumnId::kAction);
  uint8_t wrong = 0;
  uint8_t largest_action = 0;
  uint64_t valid = 0;
  for (size_t row = 0; row < flags.size(); ++row) {
    const auto flag = static_cast<uint8_t>(flags[row]);
    wrong |= FlagsAreWrong(flag) ? 1 : 0;
    largest_action = std::max(largest_action, static_cast<uint8_t>(actions[row]));
    valid += flag & kernels::kFlagValid;
  }
  if (wrong != 0 || largest_action >= kernels::kActions) {
    for (size_t row = 0; row < flags.size(); ++row) {
      const auto flag = static_cast<uint8_t>(flags[row]);
      const auto action = static_cast<uint8_t>(actions[row]);
      if (FlagsAreWrong(flag)) {
        return absl::InvalidArgumentError(base::StrCat("row ", row, ": flags are ", flag));
      }
      if (action >= kernels::kActions) {
        return absl::InvalidArgumentError(base::StrCat("row ", row, ": action is ", action));
      }
    }
  }
  if (valid != batch.statistics.valid_rows) {
    return absl::InvalidArgumentError(base::StrCat(
        "statistics.valid_rows is ", batch.statistics.valid_rows, ", the flags say ", valid));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckRows(const kernels::Batch& batch) {
  for (const kernels::ColumnSpec& spec : kernels::kColumns) {
    if (spec.type == kernels::ElementType::kF32) VIXEN_RETURN_IF_ERROR(CheckFloats(batch, spec));
  }
  return CheckFlagsAndActions(batch);
}

}  // namespace vixen::codec
