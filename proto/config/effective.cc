// SPDX-License-Identifier: Apache-2.0
#include "proto/config/effective.h"

#include "kernels/env/settings.h"
#include "proto/config/leaf.h"
#include "proto/config/preset.h"

namespace vixen::config {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

void FillRepeated(Message& owner, const Leaf& leaf) {
  const Reflection& reflection = *owner.GetReflection();
  for (double value : leaf.setting().defaults()) {
    switch (leaf.field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_FLOAT:
        reflection.AddFloat(&owner, leaf.field, static_cast<float>(value));
        break;
      case FieldDescriptor::CPPTYPE_UINT32:
        reflection.AddUInt32(&owner, leaf.field, static_cast<uint32_t>(value));
        break;
      default:
        reflection.AddDouble(&owner, leaf.field, value);
    }
  }
}

void SetToDefault(Message& owner, const FieldDescriptor* field) {
  const Reflection& reflection = *owner.GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32:
      return reflection.SetUInt32(&owner, field, field->default_value_uint32());
    case FieldDescriptor::CPPTYPE_UINT64:
      return reflection.SetUInt64(&owner, field, field->default_value_uint64());
    case FieldDescriptor::CPPTYPE_FLOAT:
      return reflection.SetFloat(&owner, field, field->default_value_float());
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return reflection.SetDouble(&owner, field, field->default_value_double());
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.SetBool(&owner, field, field->default_value_bool());
    case FieldDescriptor::CPPTYPE_ENUM:
      return reflection.SetEnum(&owner, field, field->default_value_enum());
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection.SetString(&owner, field, field->default_value_string());
    default:
      return;  // config.proto has no other types
  }
}

// Presets come before defaults, and the list of all actions has no place among numbers in
// config.proto.
void FillEnvironment(v1::EnvironmentSettings& environment) {
  ApplyPreset(environment);
  if (environment.actions().empty()) {
    for (uint32_t action = 0; action < kernels::kActions; ++action) environment.add_actions(action);
  }
}

void FillPresetsIn(Message& message) {
  if (auto* environment = dynamic_cast<v1::EnvironmentSettings*>(&message)) {
    FillEnvironment(*environment);
  }
  if (auto* learner = dynamic_cast<v1::LearnerConfig*>(&message)) ApplyPreset(*learner);
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = message.GetDescriptor()->field(i);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      FillPresetsIn(*message.GetReflection()->MutableMessage(&message, field));
    }
  }
}

}  // namespace

void FillDefaults(Message& config) {
  FillPresetsIn(config);
  for (const Leaf& leaf : LeavesOf(*config.GetDescriptor())) {
    Message& owner = MutableOwnerOf(config, leaf);
    if (CountOf(owner, *leaf.field) > 0) continue;
    if (leaf.field->is_repeated()) {
      FillRepeated(owner, leaf);
    } else {
      SetToDefault(owner, leaf.field);
    }
  }
}

}  // namespace vixen::config
