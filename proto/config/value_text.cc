// SPDX-License-Identifier: Apache-2.0
#include "proto/config/value_text.h"

#include <google/protobuf/text_format.h>

#include <cmath>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/exit_code.h"
#include "base/nearest_name.h"
#include "base/str_cat.h"

namespace vixen::config {
namespace {

using base::StrCat;
using google::protobuf::EnumDescriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Length of the prefix, up to an underscore, that all names of the enum share.
size_t SharedPrefix(const EnumDescriptor& type) {
  const std::string& first = type.value(0)->name();
  for (size_t length = first.rfind('_'); length != std::string::npos && length > 0;
       length = first.rfind('_', length - 1)) {
    bool shared = type.value_count() > 1;
    for (int i = 0; i < type.value_count(); ++i) {
      shared = shared && type.value(i)->name().compare(0, length + 1, first, 0, length + 1) == 0;
    }
    if (shared) return length + 1;
  }
  return 0;
}

std::string FlagName(const EnumValueDescriptor& value) {
  return absl::AsciiStrToLower(value.name().substr(SharedPrefix(*value.type())));
}

absl::Status NotA(const Leaf& leaf, const std::string& text, const std::string& expected) {
  return base::UsageError(StrCat("--", leaf.name(), ": \"", text, "\" is not ", expected));
}

template <typename T>
absl::Status ParseWhole(const Leaf& leaf, const std::string& text, T& value) {
  if (absl::SimpleAtoi(text, &value)) return absl::OkStatus();
  return NotA(leaf, text,
              StrCat("a whole number from ", std::numeric_limits<T>::min(), " to ",
                     std::numeric_limits<T>::max()));
}

// Sets or appends by one of Reflection's pairs of functions.
template <typename T>
void Put(Message& owner, const FieldDescriptor* field, T value,
         void (Reflection::*set)(Message*, const FieldDescriptor*, T) const,
         void (Reflection::*add)(Message*, const FieldDescriptor*, T) const) {
  const Reflection& reflection = *owner.GetReflection();
  (reflection.*(field->is_repeated() ? add : set))(&owner, field, std::move(value));
}

absl::Status AddNumber(Message& owner, const Leaf& leaf, const std::string& text) {
  const FieldDescriptor* field = leaf.field;
  absl::Status status;
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32: {
      uint32_t value = 0;
      status = ParseWhole(leaf, text, value);
      if (status.ok()) Put(owner, field, value, &Reflection::SetUInt32, &Reflection::AddUInt32);
      return status;
    }
    case FieldDescriptor::CPPTYPE_UINT64: {
      uint64_t value = 0;
      status = ParseWhole(leaf, text, value);
      if (status.ok()) Put(owner, field, value, &Reflection::SetUInt64, &Reflection::AddUInt64);
      return status;
    }
    case FieldDescriptor::CPPTYPE_FLOAT: {
      float value = 0;
      if (!absl::SimpleAtof(text, &value)) return NotA(leaf, text, "a number");
      Put(owner, field, value, &Reflection::SetFloat, &Reflection::AddFloat);
      return status;
    }
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      double value = 0;
      if (!absl::SimpleAtod(text, &value)) return NotA(leaf, text, "a number");
      Put(owner, field, value, &Reflection::SetDouble, &Reflection::AddDouble);
      return status;
    }
    default:
      return absl::InternalError(
          StrCat("--", leaf.name(),
                 ": config.proto uses a type that flags do not know: ", field->cpp_type_name()));
  }
}

absl::Status AddEnum(Message& owner, const Leaf& leaf, const std::string& text) {
  const EnumDescriptor& type = *leaf.field->enum_type();
  const std::string wanted = absl::AsciiStrToUpper(absl::StrReplaceAll(text, {{"-", "_"}}));
  for (int i = 0; i < type.value_count(); ++i) {
    const EnumValueDescriptor* value = type.value(i);
    if (wanted == value->name() || wanted == value->name().substr(SharedPrefix(type))) {
      Put(owner, leaf.field, value, &Reflection::SetEnum, &Reflection::AddEnum);
      return absl::OkStatus();
    }
  }
  return NotA(leaf, text,
              StrCat("one of ", absl::StrJoin(FlagNamesOf(type), ", "),
                     base::DidYouMean(absl::AsciiStrToLower(text), FlagNamesOf(type))));
}

absl::Status AddBool(Message& owner, const Leaf& leaf, const std::string& text) {
  bool value = false;
  if (!absl::SimpleAtob(text, &value)) return NotA(leaf, text, "true or false");
  Put(owner, leaf.field, value, &Reflection::SetBool, &Reflection::AddBool);
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> FlagNamesOf(const EnumDescriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.value_count(); ++i) names.push_back(FlagName(*type.value(i)));
  return names;
}

absl::Status AddValue(Message& owner, const Leaf& leaf, const std::string& text) {
  switch (leaf.field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      Put(owner, leaf.field, text, &Reflection::SetString, &Reflection::AddString);
      return absl::OkStatus();
    case FieldDescriptor::CPPTYPE_ENUM:
      return AddEnum(owner, leaf, text);
    case FieldDescriptor::CPPTYPE_BOOL:
      return AddBool(owner, leaf, text);
    default:
      return AddNumber(owner, leaf, text);
  }
}

std::string ValueText(const Message& owner, const FieldDescriptor& field, int index) {
  static const google::protobuf::TextFormat::Printer& printer =
      *new google::protobuf::TextFormat::Printer;
  std::string text;
  printer.PrintFieldValueToString(owner, &field, field.is_repeated() ? index : -1, &text);
  return text;
}

std::string ValuesText(const Message& root, const Leaf& leaf) {
  const Message& owner = OwnerOf(root, leaf);
  if (!leaf.field->is_repeated()) return ValueText(owner, *leaf.field);
  std::vector<std::string> values;
  for (int i = 0; i < CountOf(owner, *leaf.field); ++i) {
    values.push_back(ValueText(owner, *leaf.field, i));
  }
  return absl::StrJoin(values, ", ");
}

bool IsNumeric(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32:
    case FieldDescriptor::CPPTYPE_UINT64:
    case FieldDescriptor::CPPTYPE_FLOAT:
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return true;
    default:
      return false;
  }
}

double NumberOf(const Message& owner, const FieldDescriptor& field, int index) {
  const Reflection& reflection = *owner.GetReflection();
  const auto get = [&](auto single, auto repeated) {
    return static_cast<double>(field.is_repeated() ? (reflection.*repeated)(owner, &field, index)
                                                   : (reflection.*single)(owner, &field));
  };
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32:
      return get(&Reflection::GetUInt32, &Reflection::GetRepeatedUInt32);
    case FieldDescriptor::CPPTYPE_UINT64:
      return get(&Reflection::GetUInt64, &Reflection::GetRepeatedUInt64);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return get(&Reflection::GetFloat, &Reflection::GetRepeatedFloat);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return get(&Reflection::GetDouble, &Reflection::GetRepeatedDouble);
    default:
      return 0;
  }
}

std::string RangeText(const Leaf& leaf) {
  const v1::Setting& setting = leaf.setting();
  // Enough digits for the largest whole limits, without a tail of zeros.
  const auto number = [](double value) {
    return value == std::floor(value) && std::abs(value) < 1e15
               ? StrCat(static_cast<int64_t>(value))
               : StrCat(value);
  };
  std::string text;
  if (setting.has_min() && setting.has_max()) {
    text = StrCat(setting.exclusive_min() ? "above " : "", number(setting.min()),
                  setting.exclusive_min() ? ", at most " : " … ", number(setting.max()));
  } else if (setting.has_min()) {
    text = StrCat(setting.exclusive_min() ? "above " : "at least ", number(setting.min()));
  } else if (setting.has_max()) {
    text = StrCat("at most ", number(setting.max()));
  }
  const auto add = [&](const std::string& part) {
    text += text.empty() ? part : StrCat(", ", part);
  };
  if (setting.has_multiple_of()) add(StrCat("a multiple of ", setting.multiple_of()));
  if (setting.has_count()) add(StrCat(setting.count(), " values"));
  if (leaf.field->cpp_type() == FieldDescriptor::CPPTYPE_ENUM) {
    add(absl::StrJoin(FlagNamesOf(*leaf.field->enum_type()), ", "));
  }
  return text;
}

std::string DefaultText(const Leaf& leaf) {
  const FieldDescriptor& field = *leaf.field;
  if (field.is_repeated()) return absl::StrJoin(leaf.setting().defaults(), ",");
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_ENUM:
      return FlagName(*field.default_value_enum());
    case FieldDescriptor::CPPTYPE_STRING:
      return field.default_value_string();
    case FieldDescriptor::CPPTYPE_BOOL:
      return field.default_value_bool() ? "true" : "false";
    case FieldDescriptor::CPPTYPE_UINT32:
      return StrCat(field.default_value_uint32());
    case FieldDescriptor::CPPTYPE_UINT64:
      return StrCat(field.default_value_uint64());
    case FieldDescriptor::CPPTYPE_FLOAT:
      return StrCat(field.default_value_float());
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return StrCat(field.default_value_double());
    default:
      return "";
  }
}

}  // namespace vixen::config
