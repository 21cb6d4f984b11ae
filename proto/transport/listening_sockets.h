// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <netdb.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace vixen::transport {

struct ListeningSockets {
  std::vector<int> sockets;  // non-blocking; the caller closes them
  int port = 0;              // the same for all
};

// Listens on every address of the list, at one port: where the first has port 0 the system chooses
// it. Addresses of a family that this machine has not are passed over where another one is there.
// UNAVAILABLE with the system's reason alone, nothing left open.
absl::StatusOr<ListeningSockets> ListenOnAll(addrinfo* addresses);

// ListenOnAll the addresses of HOST:PORT.
absl::StatusOr<ListeningSockets> OpenListeningSockets(const std::string& text);

void CloseAll(std::vector<int>& sockets);

}  // namespace vixen::transport
