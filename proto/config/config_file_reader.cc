// SPDX-License-Identifier: Apache-2.0
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/exit_code.h"
#include "base/file.h"
#include "base/nearest_name.h"
#include "base/str_cat.h"
#include "proto/config/config_file.h"
#include "proto/config/leaf.h"

namespace vixen::config {
namespace {

using base::StrCat;
using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::TextFormat;

constexpr int kMostNesting = 20;

// Keeps the first error: what follows is mostly its echo.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int at_line, int at_column, const std::string& text) override {
    if (found) return;
    found = true;
    line = at_line;
    column = at_column;
    message = text;
  }

  bool found = false;
  int line = 0;  // from 0
  int column = 0;
  std::string message;
};

// The n-th (from 0) text between double quotes in the parser's message.
std::string Quoted(const std::string& message, size_t n) {
  const std::vector<std::string> parts = absl::StrSplit(message, '"');
  return parts.size() > 2 * n + 1 ? parts[2 * n + 1] : "";
}

std::vector<std::string> FieldNames(const Descriptor& message) {
  std::vector<std::string> names;
  for (int i = 0; i < message.field_count(); ++i) names.push_back(message.field(i)->name());
  return names;
}

std::string ExplainUnknownField(const std::string& name, const Descriptor& inside,
                                const Descriptor& root) {
  const std::string what = StrCat("unknown setting \"", name, "\" in ", inside.name());
  std::vector<std::string> everywhere;
  for (const Leaf& leaf : LeavesOf(root)) {
    if (leaf.name() == name) {
      return leaf.groups.empty()
                 ? StrCat(what, ": it belongs outside of every { }")
                 : StrCat(what, ": it belongs in ", leaf.group(), " { ", name, ": … }");
    }
    everywhere.push_back(leaf.name());
  }
  const std::string near = base::DidYouMean(name, FieldNames(inside));
  return StrCat(what, near.empty() ? base::DidYouMean(name, everywhere) : near);
}

std::string ExplainEnum(const std::string& value, const std::string& field_name,
                        const Descriptor& root) {
  std::string text = StrCat("unknown value ", value, " of ", field_name);
  for (const Leaf& leaf : LeavesOf(root)) {
    if (leaf.name() != field_name || leaf.field->enum_type() == nullptr) continue;
    std::vector<std::string> names;
    for (int i = 0; i < leaf.field->enum_type()->value_count(); ++i) {
      names.push_back(leaf.field->enum_type()->value(i)->name());
    }
    base::StrAppend(&text, ", expected ", absl::StrJoin(names, ", "),
                    base::DidYouMean(absl::AsciiStrToUpper(value), names));
  }
  return text;
}

// Moves from where the parser stood, which may be the token behind, back to the last place of
// `word`.
void PointAt(const std::string& word, const std::string& text, FirstError& error) {
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  size_t most = error.column < 0 ? 0 : static_cast<size_t>(error.column);
  for (int line = std::min(error.line, static_cast<int>(lines.size()) - 1); line >= 0; --line) {
    const size_t place = lines[line].rfind(word, most);
    if (place != std::string::npos) {
      error.line = line;
      error.column = static_cast<int>(place);
      return;
    }
    most = std::string::npos;
  }
}

// The setting whose value the parser was at: the last "name:" before it in the line.
std::string SettingBefore(const std::string& text, const FirstError& error,
                          const Descriptor& root) {
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  if (error.line < 0 || static_cast<size_t>(error.line) >= lines.size()) return "";
  const std::string before = lines[error.line].substr(0, error.column < 0 ? 0 : error.column);
  const auto is_name = [](char c) { return absl::ascii_isalnum(c) || c == '_'; };
  const size_t colon = before.rfind(':');
  if (colon == std::string::npos) return "";
  size_t begin = colon;
  while (begin > 0 && is_name(before[begin - 1])) --begin;
  std::string name = before.substr(begin, colon - begin);
  for (const Leaf& leaf : LeavesOf(root)) {
    if (leaf.name() == name) return name;
  }
  return "";
}

// The parser's words, or better ones where a remedy can be named. May move the column from where
// the parser stood to the name it means.
std::string Explain(FirstError& error, const std::string& text, const Descriptor& root) {
  const std::string& message = error.message;
  if (message.find("has no field named") != std::string::npos) {
    const Descriptor* inside = root.file()->pool()->FindMessageTypeByName(Quoted(message, 0));
    const std::string name = Quoted(message, 1);
    PointAt(name, text, error);
    return ExplainUnknownField(name, inside != nullptr ? *inside : root, root);
  }
  if (message.find("Unknown enumeration value") != std::string::npos) {
    PointAt(Quoted(message, 0), text, error);
    return ExplainEnum(Quoted(message, 0), Quoted(message, 1), root);
  }
  if (message.find("specified multiple times") != std::string::npos) {
    PointAt(Quoted(message, 0), text, error);
    return StrCat(Quoted(message, 0), " is set twice here; keep one");
  }
  const std::string setting = SettingBefore(text, error, root);
  return setting.empty() ? message : StrCat("value of ", setting, ": ", message);
}

void AddOrigins(const TextFormat::ParseInfoTree& tree, const Message& message,
                std::string_view source, Origins& origins) {
  const Descriptor& descriptor = *message.GetDescriptor();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor* field = descriptor.field(i);
    if (CountOf(message, *field) == 0) continue;
    const int index = field->is_repeated() ? 0 : -1;
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      if (const auto* nested = tree.GetTreeForNested(field, index)) {
        AddOrigins(*nested, message.GetReflection()->GetMessage(message, field), source, origins);
      }
    } else if (const auto place = tree.GetLocation(field, index); place.line >= 0) {
      origins[field->name()] = StrCat(source, ":", place.line + 1, ":", place.column + 1);
    }
  }
}

}  // namespace

absl::StatusOr<Origins> ParseConfig(const std::string& text, std::string_view source,
                                    Message& config) {
  std::unique_ptr<Message> parsed(config.New());
  FirstError error;
  TextFormat::ParseInfoTree tree;
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  parser.WriteLocationsTo(&tree);
  parser.SetRecursionLimit(kMostNesting);
  if (!parser.ParseFromString(text, parsed.get()) || error.found) {
    const std::string why = Explain(error, text, *config.GetDescriptor());
    return base::UsageError(StrCat(source, ":", error.line + 1, ":", error.column + 1, ": ", why));
  }
  config.GetReflection()->Swap(&config, parsed.get());
  Origins origins;
  AddOrigins(tree, config, source, origins);
  return origins;
}

absl::StatusOr<Origins> ReadConfigFile(const std::string& path, Message& config) {
  const absl::StatusOr<std::string> text = base::ReadFile(path);
  if (!text.ok()) return base::UsageError(std::string(text.status().message()));
  return ParseConfig(*text, path, config);
}

}  // namespace vixen::config
