// SPDX-License-Identifier: Apache-2.0
#include "proto/codec/column_layout.h"

#include <string>

#include "base/str_cat.h"
#include "kernels/env/slot_state.h"
#include "proto/codec/convert.h"

namespace vixen::codec {
namespace {

std::string Describe(const v1::Column& column) {
  return base::StrCat("\"", column.name(), "\" ", v1::ElementType_Name(column.type()), " width ",
                      column.width(), " ", v1::Column::Scope_Name(column.scope()));
}

}  // namespace

uint64_t WireColumn::Bytes(uint32_t episodes, uint32_t steps) const {
  const uint64_t rows = per_slot ? uint64_t{episodes} : uint64_t{episodes} * steps;
  return rows * width * kernels::ElementBytes(type);
}

absl::StatusOr<ColumnLayout> ColumnLayout::Of(const v1::Encoding& encoding, uint32_t state_width) {
  if (encoding.next_state() && !encoding.state()) {
    return absl::InvalidArgumentError("encoding.next_state needs encoding.state");
  }
  ColumnLayout layout;
  layout.encoding_ = encoding;
  layout.state_width_ = state_width;
  const kernels::ElementType real =
      encoding.fp16() ? kernels::ElementType::kF16 : kernels::ElementType::kF32;
  for (const kernels::ColumnSpec& spec : kernels::kColumns) {
    if (spec.id == kernels::ColumnId::kTerms && !encoding.terms()) continue;
    WireColumn column{.name = spec.name, .type = spec.type, .width = spec.width, .id = spec.id};
    if (spec.type == kernels::ElementType::kF32) column.type = real;
    layout.columns_.push_back(column);
  }
  if (encoding.state()) {
    layout.columns_.push_back({.name = kStateColumn, .type = real, .width = state_width});
  }
  if (encoding.next_state()) {
    layout.columns_.push_back({.name = kNextStateColumn, .type = real, .width = state_width});
  }
  if (encoding.slot_states()) {
    layout.columns_.push_back({.name = kSlotStatesColumn,
                               .type = kernels::ElementType::kU8,
                               .width = sizeof(kernels::SlotState),
                               .per_slot = true});
  }
  return layout;
}

uint64_t ColumnLayout::PayloadBytes(uint32_t episodes, uint32_t steps) const {
  uint64_t bytes = 0;
  for (const WireColumn& column : columns_) bytes += column.Bytes(episodes, steps);
  return bytes;
}

google::protobuf::RepeatedPtrField<v1::Column> ColumnLayout::ToProto() const {
  google::protobuf::RepeatedPtrField<v1::Column> declared;
  for (const WireColumn& column : columns_) {
    v1::Column* message = declared.Add();
    message->set_name(std::string(column.name));
    message->set_type(codec::ToProto(column.type));
    message->set_width(column.width);
    message->set_scope(column.per_slot ? v1::Column::SCOPE_SLOT : v1::Column::SCOPE_ROW);
  }
  return declared;
}

absl::Status ColumnLayout::CheckDeclared(
    const google::protobuf::RepeatedPtrField<v1::Column>& declared) const {
  const google::protobuf::RepeatedPtrField<v1::Column> expected = ToProto();
  for (int i = 0; i < expected.size() && i < declared.size(); ++i) {
    const std::string want = Describe(expected[i]);
    const std::string have = Describe(declared[i]);
    if (want != have) {
      return absl::InvalidArgumentError(
          base::StrCat("column ", i, " is declared as ", have, ", ", want, " was asked for"));
    }
  }
  if (expected.size() != declared.size()) {
    return absl::InvalidArgumentError(base::StrCat(declared.size(), " columns are declared, ",
                                                   expected.size(), " were asked for"));
  }
  return absl::OkStatus();
}

}  // namespace vixen::codec
