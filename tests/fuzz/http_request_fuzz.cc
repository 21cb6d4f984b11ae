// SPDX-License-Identifier: Apache-2.0
// What a client says to the pages of metrics and probes. First byte: the size of the pieces that it
// comes in, which must not matter.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "proto/telemetry/http_exchange.h"

namespace {

using vixen::telemetry::HttpResponse;

constexpr std::string_view kBody = "page\n";

void Check(bool holds) {
  if (!holds) std::abort();
}

HttpResponse Page(std::string_view path) {
  Check(path.find_first_of(" ?") == std::string_view::npos);
  Check(path.find("\r\n") == std::string_view::npos);
  return path == "/healthz" ? HttpResponse{.code = 503, .body = std::string(kBody)}
                            : HttpResponse{.body = std::string(kBody)};
}

std::string AnswerTo(std::string_view bytes, size_t piece) {
  static const vixen::telemetry::HttpHandler kHandler = Page;
  std::string request;
  std::string answer;
  for (; answer.empty() && !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    answer = vixen::telemetry::AddToRequest(bytes.substr(0, piece), kHandler, request);
  }
  Check(request.size() <= vixen::telemetry::kMostRequestBytes + piece);
  return answer;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1 || size > vixen::telemetry::kMostRequestBytes) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string whole = AnswerTo(bytes, vixen::telemetry::kMostRequestBytes);
  Check(AnswerTo(bytes, size_t{1} + data[0]) == whole);
  Check(whole.empty() == (bytes.find("\r\n\r\n") == std::string_view::npos));
  if (whole.empty()) return 0;
  Check(whole.starts_with("HTTP/1.1 "));
  const bool page = whole.starts_with("HTTP/1.1 200 ") || whole.starts_with("HTTP/1.1 503 ");
  const bool head = bytes.starts_with("HEAD ");
  Check(!page || whole.ends_with(head ? "\r\n\r\n" : "\r\n\r\npage\n"));
  return 0;
}
