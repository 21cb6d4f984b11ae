// SPDX-License-Identifier: Apache-2.0
// The settings of a configuration message, found by reflection: every scalar field of the message
// and of the messages in it. Their leaf names are unique, so a leaf name means one setting.
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <vector>

#include "vixen/v1/config.pb.h"

namespace vixen::config {

struct Leaf {
  // The messages on the way (none for a field of the message itself).
  std::vector<const google::protobuf::FieldDescriptor*> groups;
  const google::protobuf::FieldDescriptor* field = nullptr;

  const std::string& name() const { return field->name(); }
  // Help, range and defaults from config.proto.
  const v1::Setting& setting() const;
  // "environment", or "" for a field of the message itself.
  std::string group() const;
};

// In order of declaration, depth first. Made once a message type; thread-safe. REQUIRES: a type
// that was compiled in.
const std::vector<Leaf>& LeavesOf(const google::protobuf::Descriptor& message);

// The message that holds the leaf's value.
const google::protobuf::Message& OwnerOf(const google::protobuf::Message& root, const Leaf& leaf);
google::protobuf::Message& MutableOwnerOf(google::protobuf::Message& root, const Leaf& leaf);

// Values held: 0 or 1 for a singular field (1 when set), the length for a repeated one.
int CountOf(const google::protobuf::Message& owner, const google::protobuf::FieldDescriptor& field);

}  // namespace vixen::config
