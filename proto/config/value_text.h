// SPDX-License-Identifier: Apache-2.0
// One value of a setting as text and number, both ways.
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/config/leaf.h"

namespace vixen::config {

// The names that a flag accepts for an enum, in order: lower case, without the prefix that all
// values of the enum share ("cpu" for EXECUTOR_CPU).
std::vector<std::string> FlagNamesOf(const google::protobuf::EnumDescriptor& type);

// Sets (singular) or appends (repeated) the value that `text` says. Enums: any of FlagNamesOf or
// the full name, in any case. INVALID_ARGUMENT "--steps: "x" is not a whole number from 0 to
// 4294967295".
absl::Status AddValue(google::protobuf::Message& owner, const Leaf& leaf, const std::string& text);

// The value as textproto writes it: 0.1, "text", EXECUTOR_CPU. `index` counts values of a repeated
// field and is ignored otherwise. A singular field that is not set gives its default.
std::string ValueText(const google::protobuf::Message& owner,
                      const google::protobuf::FieldDescriptor& field, int index = 0);

// All values of the leaf, whose owner `root` holds, joined by ", ".
std::string ValuesText(const google::protobuf::Message& root, const Leaf& leaf);

// The value of a numeric field; 0 for other types.
double NumberOf(const google::protobuf::Message& owner,
                const google::protobuf::FieldDescriptor& field, int index = 0);
bool IsNumeric(const google::protobuf::FieldDescriptor& field);

// "1 … 65536, a multiple of 16", "> 0", "auto, cpu or cuda"; "" without a limit.
std::string RangeText(const Leaf& leaf);

// "128", "auto", "1,1.5,2"; "" without one. As a flag would take it.
std::string DefaultText(const Leaf& leaf);

}  // namespace vixen::config
