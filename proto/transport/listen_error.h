// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace vixen::transport {

// UNAVAILABLE "cannot listen on 127.0.0.1:50051: Address already in use; choose another address
// with --listen".
absl::Status CannotListen(std::string_view setting, std::string_view address,
                          std::string_view reason);

// The same where the reason is not known: why HOST:PORT cannot be listened on is asked of the
// system itself, because gRPC does not pass its reason on.
absl::Status ListenError(std::string_view setting, const std::string& address);

}  // namespace vixen::transport
