// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace vixen::server {

// Why HOST:PORT cannot be listened on, asked of the system itself, because neither gRPC nor
// civetweb pass its reason on: UNAVAILABLE "listen 127.0.0.1:50051: Address already in use; …".
absl::Status ListenError(std::string_view setting, const std::string& address);

}  // namespace vixen::server
