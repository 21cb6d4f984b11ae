// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <vector>

#include "absl/strings/str_join.h"
#include "base/str_cat.h"
#include "proto/config/config_file.h"
#include "proto/config/effective.h"
#include "proto/config/leaf.h"
#include "proto/config/value_text.h"

namespace vixen::config {
namespace {

using base::StrAppend;
using base::StrCat;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

std::string Comment(const Leaf& leaf) {
  const std::string range = RangeText(leaf);
  return StrCat("# ", leaf.setting().help(), range.empty() ? "" : StrCat(" (", range, ")"), "\n");
}

std::string Values(const Message& owner, const FieldDescriptor& field) {
  if (!field.is_repeated()) return ValueText(owner, field);
  std::vector<std::string> values;
  for (int i = 0; i < CountOf(owner, field); ++i) values.push_back(ValueText(owner, field, i));
  return StrCat("[", absl::StrJoin(values, ", "), "]");
}

// The lines of one message; nested messages after its own settings' order of declaration.
std::string Block(const Message& message, const std::string& indent, bool with_help) {
  std::string text;
  const Message* defaults =
      message.GetReflection()->GetMessageFactory()->GetPrototype(message.GetDescriptor());
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = message.GetDescriptor()->field(i);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      const Message& nested = message.GetReflection()->GetMessage(message, field);
      const std::string inside = Block(nested, indent + "  ", with_help);
      if (!inside.empty()) StrAppend(&text, indent, field->name(), " {\n", inside, indent, "}\n");
      continue;
    }
    const Leaf leaf{{}, field};
    const std::string values = Values(message, *field);
    if (leaf.setting().testing() && values == Values(*defaults, *field)) continue;
    if (with_help) StrAppend(&text, indent, Comment(leaf));
    StrAppend(&text, indent, field->name(), ": ", values, "\n");
  }
  return text;
}

}  // namespace

std::string EffectiveText(const Message& config, bool with_help) {
  std::unique_ptr<Message> effective(config.New());
  effective->CopyFrom(config);
  FillDefaults(*effective);
  return Block(*effective, "", with_help);
}

}  // namespace vixen::config
