// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/batch/columns.h"
#include "vixen/v1/actor.pb.h"
#include "vixen/v1/batch.pb.h"

namespace vixen::codec {

// One column of the payload.
struct WireColumn {
  std::string_view name;                // of static storage
  kernels::ElementType type;            // on the wire
  uint32_t width = 1;                   // elements a row (or a slot)
  bool per_slot = false;                // [N, width] instead of [N·L, width]
  std::optional<kernels::ColumnId> id;  // empty: state, next_state, slot_states

  uint64_t Bytes(uint32_t episodes, uint32_t steps) const;
};

inline constexpr std::string_view kStateColumn = "state";
inline constexpr std::string_view kNextStateColumn = "next_state";
inline constexpr std::string_view kSlotStatesColumn = "slot_states";

// The columns of a payload, one after another: those of kernels::kColumns, then state, next_state
// and slot_states as the encoding asks. Both ends compute it; the actor declares it in `opened` and
// the client compares.
class ColumnLayout {
 public:
  // `state_width` is S = F + 3. INVALID_ARGUMENT for next_state without state.
  static absl::StatusOr<ColumnLayout> Of(const v1::Encoding& encoding, uint32_t state_width);

  const v1::Encoding& encoding() const { return encoding_; }
  uint32_t state_width() const { return state_width_; }
  const std::vector<WireColumn>& columns() const { return columns_; }
  uint64_t PayloadBytes(uint32_t episodes, uint32_t steps) const;

  google::protobuf::RepeatedPtrField<v1::Column> ToProto() const;
  // INVALID_ARGUMENT naming the first column that differs from `declared`.
  absl::Status CheckDeclared(const google::protobuf::RepeatedPtrField<v1::Column>& declared) const;

 private:
  v1::Encoding encoding_;
  uint32_t state_width_ = 0;
  std::vector<WireColumn> columns_;
};

}  // namespace vixen::codec
