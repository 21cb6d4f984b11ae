// SPDX-License-Identifier: Apache-2.0
#include "proto/telemetry/http_get.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "base/str_cat.h"

namespace vixen::telemetry {

absl::StatusOr<std::string> HttpGet(int port, const std::string& path) {
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  timeval limit{.tv_sec = 10, .tv_usec = 0};
  setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  std::string answer;
  const std::string request =
      base::StrCat("GET ", path, " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  if (connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
      send(descriptor, request.data(), request.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(request.size())) {
    std::array<char, 4096> bytes{};
    for (ssize_t got; (got = recv(descriptor, bytes.data(), bytes.size(), 0)) > 0;) {
      answer.append(bytes.data(), static_cast<size_t>(got));
    }
  }
  close(descriptor);
  const size_t body = answer.find("\r\n\r\n");
  if (answer.find(" 200 ") > answer.find("\r\n") || body == std::string::npos) {
    return absl::UnavailableError(base::StrCat("no page at 127.0.0.1:", port, path, ", but \"",
                                               answer.substr(0, answer.find("\r\n")), "\""));
  }
  return answer.substr(body + 4);
}

}  // namespace vixen::telemetry
