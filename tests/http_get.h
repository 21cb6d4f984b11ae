// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

namespace vixen::testing {

// Everything that 127.0.0.1:port answers to GET path, head and body; "" without a connection.
inline std::string HttpAnswer(int port, const std::string& path) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string all;
  if (connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) {
    const std::string request = "GET " + path + " HTTP/1.1\r\n\r\n";
    send(socket, request.data(), request.size(), MSG_NOSIGNAL);
    char buffer[4096];
    for (ssize_t count; (count = recv(socket, buffer, sizeof(buffer), 0)) > 0;) {
      all.append(buffer, static_cast<size_t>(count));
    }
  }
  close(socket);
  return all;
}

}  // namespace vixen::testing
