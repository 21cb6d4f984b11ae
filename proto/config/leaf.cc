// SPDX-License-Identifier: Apache-2.0
#include "proto/config/leaf.h"

#include <map>
#include <mutex>

namespace vixen::config {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

void AppendLeaves(const Descriptor& message, std::vector<const FieldDescriptor*>& groups,
                  std::vector<Leaf>& leaves) {
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor* field = message.field(i);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      groups.push_back(field);
      AppendLeaves(*field->message_type(), groups, leaves);
      groups.pop_back();
    } else {
      leaves.push_back({groups, field});
    }
  }
}

}  // namespace

const v1::Setting& Leaf::setting() const { return field->options().GetExtension(v1::setting); }

std::string Leaf::group() const { return groups.empty() ? "" : groups.back()->name(); }

const std::vector<Leaf>& LeavesOf(const Descriptor& message) {
  static std::mutex mutex;
  static auto& known = *new std::map<const Descriptor*, std::vector<Leaf>>;
  std::lock_guard lock(mutex);
  const auto [found, added] = known.try_emplace(&message);
  if (added) {
    std::vector<const FieldDescriptor*> groups;
    AppendLeaves(message, groups, found->second);
  }
  return found->second;
}

const Message& OwnerOf(const Message& root, const Leaf& leaf) {
  const Message* owner = &root;
  for (const FieldDescriptor* group : leaf.groups) {
    owner = &owner->GetReflection()->GetMessage(*owner, group);
  }
  return *owner;
}

Message& MutableOwnerOf(Message& root, const Leaf& leaf) {
  Message* owner = &root;
  for (const FieldDescriptor* group : leaf.groups) {
    owner = owner->GetReflection()->MutableMessage(owner, group);
  }
  return *owner;
}

int CountOf(const Message& owner, const FieldDescriptor& field) {
  const google::protobuf::Reflection& reflection = *owner.GetReflection();
  if (field.is_repeated()) return reflection.FieldSize(owner, &field);
  return reflection.HasField(owner, &field) ? 1 : 0;
}

}  // namespace vixen::config
