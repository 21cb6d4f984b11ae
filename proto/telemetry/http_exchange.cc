// SPDX-License-Identifier: Apache-2.0
#include "proto/telemetry/http_exchange.h"

#include <algorithm>

#include "base/str_cat.h"

namespace vixen::telemetry {
namespace {

constexpr std::string_view kHeadEnd = "\r\n\r\n";

const char* ReasonOf(int code) {
  switch (code) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 503:
      return "Service Unavailable";
    default:
      return "Error";
  }
}

std::string TextOf(const HttpResponse& response, bool with_body) {
  return base::StrCat("HTTP/1.1 ", response.code, " ", ReasonOf(response.code),
                      "\r\nContent-Type: ", response.content_type,
                      "\r\nContent-Length: ", response.body.size(),
                      "\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n",
                      with_body ? std::string_view(response.body) : std::string_view());
}

std::string Answer(std::string_view request, const HttpHandler& handler) {
  const std::string_view line = request.substr(0, request.find("\r\n"));
  const size_t space = line.find(' ');
  const size_t end = space == std::string_view::npos ? space : line.find(' ', space + 1);
  if (end == std::string_view::npos || line.substr(end + 1).substr(0, 7) != "HTTP/1.") {
    return TextOf({.code = 400, .body = "this is no HTTP/1 request\n"}, true);
  }
  const std::string_view method = line.substr(0, space);
  if (method != "GET" && method != "HEAD") {
    return TextOf({.code = 405, .body = "only GET and HEAD\n"}, true);
  }
  const std::string_view target = line.substr(space + 1, end - space - 1);
  return TextOf(handler(target.substr(0, target.find('?'))), method == "GET");
}

}  // namespace

std::string AddToRequest(std::string_view bytes, const HttpHandler& handler, std::string& request) {
  // The end may lie across the border; what is before it was searched already.
  const size_t searched = request.size() - std::min(request.size(), kHeadEnd.size() - 1);
  request.append(bytes);
  if (request.find(kHeadEnd, searched) != std::string::npos) return Answer(request, handler);
  if (request.size() <= kMostRequestBytes) return "";
  return TextOf({.code = 400, .body = "the request is too long\n"}, true);
}

}  // namespace vixen::telemetry
