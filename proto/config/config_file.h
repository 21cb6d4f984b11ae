// SPDX-License-Identifier: Apache-2.0
// Configuration as text: what `--config FILE` reads and `vixen config print` writes.
#pragma once

#include <google/protobuf/message.h>

#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace vixen::config {

// Where a setting was given, by its leaf name: "actor.textproto:3:5" (line and column from 1) or
// "--steps". A setting that was not given has no entry.
using Origins = std::map<std::string, std::string>;

// Reads textproto into `config`, which keeps its old value on error. Usage errors name source, line
// and column; for an unknown field also the nearest right names, or the message in which it lives.
// ParseConfig reads no file: `source` stands for it in errors and origins.
absl::StatusOr<Origins> ReadConfigFile(const std::string& path, google::protobuf::Message& config);
absl::StatusOr<Origins> ParseConfig(const std::string& text, std::string_view source,
                                    google::protobuf::Message& config);

// The effective configuration: every setting on a line of its own, defaults filled in, in the order
// of config.proto; the same configuration always gives the same text. Settings for tests are left
// out unless they differ from their default. `with_help` adds meaning and range as comments.
std::string EffectiveText(const google::protobuf::Message& config, bool with_help = false);

}  // namespace vixen::config
