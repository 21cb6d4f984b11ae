// SPDX-License-Identifier: Apache-2.0
#include "proto/config/config_flags.h"

#include <memory>

#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "proto/config/config_check.h"
#include "proto/config/effective.h"
#include "proto/config/value_text.h"

namespace vixen::config {
namespace {

using base::StrCat;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Values are kept as text by the option itself and read in Apply, after the file.
const CLI::callback_t kKeep = [](const CLI::results_t&) { return true; };

std::string Describe(const Leaf& leaf) {
  const std::string range = RangeText(leaf);
  return range.empty() ? leaf.setting().help() : StrCat(leaf.setting().help(), " (", range, ")");
}

std::string TypeName(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_ENUM:
      return "NAME";
    case FieldDescriptor::CPPTYPE_STRING:
      return field.is_repeated() ? "TEXT,…" : "TEXT";
    default:
      return field.is_repeated() ? "NUMBER,…" : "NUMBER";
  }
}

CLI::Option* AddFlag(CLI::App& app, const Leaf& leaf) {
  CLI::Option* option = app.add_option(StrCat("--", leaf.name()), kKeep, Describe(leaf));
  if (leaf.field->cpp_type() == FieldDescriptor::CPPTYPE_BOOL) {
    option->expected(0)->type_name("");
  } else {
    option->type_name(TypeName(*leaf.field));
    if (leaf.setting().has_bare()) option->expected(0, 1);
  }
  // CLI11 would take the default for the value of a bare flag.
  if (const std::string value = DefaultText(leaf); !value.empty() && !leaf.setting().has_bare()) {
    option->default_str(value);
  }
  option->multi_option_policy(leaf.field->is_repeated() ? CLI::MultiOptionPolicy::TakeAll
                                                        : CLI::MultiOptionPolicy::TakeLast);
  option->group(leaf.setting().testing() ? "" : leaf.groups.empty() ? "Settings" : leaf.group());
  return option;
}

absl::Status SetFromFlag(Message& config, const Leaf& leaf, const CLI::results_t& texts) {
  Message& owner = MutableOwnerOf(config, leaf);
  if (!leaf.field->is_repeated()) {
    const bool bare = leaf.setting().has_bare() && texts.back().empty();
    return AddValue(owner, leaf, bare ? leaf.setting().bare() : texts.back());
  }
  owner.GetReflection()->ClearField(&owner, leaf.field);
  for (const std::string& text : texts) {
    for (const auto& part : absl::StrSplit(text, ',', absl::SkipEmpty())) {
      VIXEN_RETURN_IF_ERROR(AddValue(owner, leaf, std::string(part)));
    }
  }
  return absl::OkStatus();
}

}  // namespace

ConfigFlags::ConfigFlags(CLI::App& app, Message& config, File file) : config_(config) {
  if (file == File::kOption) {
    file_ =
        app.add_option("--config", kKeep, "textproto file with these settings; flags override it")
            ->type_name("FILE")
            ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
  for (const Leaf& leaf : LeavesOf(*config.GetDescriptor())) {
    CLI::Option* option = AddFlag(app, leaf);
    flags_.push_back({leaf, option});
  }
}

absl::Status ConfigFlags::Apply() {
  std::unique_ptr<Message> result(config_.New());
  Origins origins;
  if (file_ != nullptr && file_->count() > 0) {
    VIXEN_ASSIGN_OR_RETURN(origins, ReadConfigFile(file_->results().back(), *result));
  } else {
    result->CopyFrom(config_);
  }
  for (const Flag& flag : flags_) {
    if (flag.option->count() == 0) continue;
    VIXEN_RETURN_IF_ERROR(SetFromFlag(*result, flag.leaf, flag.option->results()));
    origins[flag.leaf.name()] = StrCat("--", flag.leaf.name());
  }
  VIXEN_RETURN_IF_ERROR(CheckConfig(*result, origins));
  FillDefaults(*result);
  config_.GetReflection()->Swap(&config_, result.get());
  origins_ = std::move(origins);
  return absl::OkStatus();
}

}  // namespace vixen::config
