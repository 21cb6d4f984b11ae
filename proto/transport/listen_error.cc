// SPDX-License-Identifier: Apache-2.0
#include "proto/transport/listen_error.h"

#include "base/str_cat.h"
#include "proto/transport/listening_sockets.h"

namespace vixen::transport {

absl::Status CannotListen(std::string_view setting, std::string_view address,
                          std::string_view reason) {
  return absl::UnavailableError(base::StrCat("cannot listen on ", address, ": ", reason,
                                             "; choose another address with --", setting));
}

absl::Status ListenError(std::string_view setting, const std::string& address) {
  absl::StatusOr<ListeningSockets> opened = OpenListeningSockets(address);
  if (!opened.ok()) return CannotListen(setting, address, std::string(opened.status().message()));
  CloseAll(opened->sockets);
  return CannotListen(setting, address, "it is not possible");
}

}  // namespace vixen::transport
