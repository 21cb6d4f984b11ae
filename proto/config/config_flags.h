// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/message.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/config/config_file.h"
#include "proto/config/leaf.h"

namespace vixen::config {

// Makes every setting of a configuration message a flag of its leaf name on a command-line app,
// with help, range and default from config.proto; the message's parts become groups of the help.
// Repeated settings: comma separated or the flag again. Enums: "--executor cpu". Truth values:
// "--carry_over" or "--carry_over=false". A flag given twice counts as given last.
class ConfigFlags {
 public:
  enum class File {
    kNone,    // flags alone
    kOption,  // also "--config FILE", textproto of the whole message, which flags override
  };

  // `app`, `config` and this object must live until Apply has returned. Use one object for each
  // message where a command takes several.
  ConfigFlags(CLI::App& app, google::protobuf::Message& config, File file = File::kOption);
  ConfigFlags(const ConfigFlags&) = delete;
  ConfigFlags& operator=(const ConfigFlags&) = delete;

  // After the app has parsed: reads the file, puts the flags over it, checks everything
  // (config_check.h) and fills presets and defaults in (effective.h). On error `config` is as
  // before.
  absl::Status Apply();

  // Where each given setting came from; after Apply.
  const Origins& origins() const { return origins_; }

 private:
  struct Flag {
    Leaf leaf;
    CLI::Option* option;
  };
  google::protobuf::Message& config_;
  std::vector<Flag> flags_;
  CLI::Option* file_ = nullptr;
  Origins origins_;
};

}  // namespace vixen::config
