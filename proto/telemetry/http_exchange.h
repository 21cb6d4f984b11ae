// SPDX-License-Identifier: Apache-2.0
// One request and its answer as text, without a socket.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace vixen::telemetry {

struct HttpResponse {
  int code = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

// Called with the path without its query.
using HttpHandler = std::function<HttpResponse(std::string_view path)>;

// More bytes of a request's head end the exchange.
inline constexpr size_t kMostRequestBytes = 8 << 10;

// Appends `bytes`, as they came, to `request`. Empty while the head is incomplete; else the whole
// answer, after which nothing more is to be added: the handler's for GET, without its body for
// HEAD, 405 for other methods, 400 for what is no HTTP/1 request or is longer than
// kMostRequestBytes.
std::string AddToRequest(std::string_view bytes, const HttpHandler& handler, std::string& request);

}  // namespace vixen::telemetry
