// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "absl/status/status.h"
#include "vixen/v1/config.pb.h"

namespace vixen::server {

// Logs go to stderr, one line an event, as text or as one JSON object a line.
absl::Status SetUpLog(const v1::LogSettings& settings);

// trace, debug, info, warn or error. INVALID_ARGUMENT naming other levels.
absl::Status SetLogLevel(const std::string& level);
std::string LogLevel();

}  // namespace vixen::server
