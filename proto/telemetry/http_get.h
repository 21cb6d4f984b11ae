// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace vixen::telemetry {

// The body of http://127.0.0.1:port/path, as the daemons serve it (http_server.h). UNAVAILABLE
// naming the page when there is no answer within ten seconds, or another status than 200.
absl::StatusOr<std::string> HttpGet(int port, const std::string& path);

}  // namespace vixen::telemetry
