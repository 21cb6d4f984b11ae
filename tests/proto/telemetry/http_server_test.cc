// SPDX-License-Identifier: Apache-2.0
#include "proto/telemetry/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/str_cat.h"
#include "proto/telemetry/http_get.h"

namespace vixen::telemetry {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class Client {
 public:
  Client() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  explicit Client(int port) : Client() { Connect(port); }
  void Connect(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }
  ~Client() { close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool connected() const { return connected_; }
  void Say(const std::string& text) const { send(socket_, text.data(), text.size(), MSG_NOSIGNAL); }
  // Until the other end closes.
  std::string Hear() const {
    std::string all;
    char buffer[4096];
    for (ssize_t count; (count = recv(socket_, buffer, sizeof(buffer), 0)) > 0;) {
      all.append(buffer, static_cast<size_t>(count));
    }
    return all;
  }
  void TakeLittle() const {
    const int bytes = 4096;
    setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
  }

 private:
  int socket_;
  bool connected_ = false;
};

class HttpServerTest : public ::testing::Test {
 protected:
  HttpServerTest() {
    auto listening = HttpServer::Listen("metrics_listen", "127.0.0.1:0", [](std::string_view path) {
      if (path == "/large") return HttpResponse{.body = std::string(16 << 20, 'x')};
      if (path == "/no") return HttpResponse{.code = 503, .body = "not yet\n"};
      return HttpResponse{.body = base::StrCat("page ", path, "\n")};
    });
    EXPECT_TRUE(listening.ok()) << listening.status();
    server = *std::move(listening);
  }
  std::string Ask(const std::string& request) const {
    const Client client(server->port());
    client.Say(request);
    return client.Hear();
  }

  std::unique_ptr<HttpServer> server;
};

TEST_F(HttpServerTest, AnswersGetWithThePageAndItsLength) {
  const std::string answer = Ask("GET /metrics?name=x HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Length: 14\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\n\r\npage /metrics\n"));
}

TEST_F(HttpServerTest, AnswersHeadWithoutThePage) {
  const std::string answer = Ask("HEAD /metrics HTTP/1.0\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("Content-Length: 14\r\n"));
  EXPECT_TRUE(answer.ends_with("\r\n\r\n"));
}

TEST_F(HttpServerTest, PassesOnTheStatusOfAPage) {
  EXPECT_THAT(Ask("GET /no HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 503 "));
}

TEST_F(HttpServerTest, RefusesOtherMethodsAndWhatIsNoHttp) {
  EXPECT_THAT(Ask("POST /metrics HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 405 "));
  for (const char* nonsense : {"\r\n\r\n", "GET\r\n\r\n", "GET /metrics\r\n\r\n",
                               "GET /metrics FTP/1.1\r\n\r\n", "\x16\x03\x01\r\n\r\n"}) {
    EXPECT_THAT(Ask(nonsense), StartsWith("HTTP/1.1 400 ")) << nonsense;
  }
}

TEST_F(HttpServerTest, EndsARequestThatDoesNotEnd) {
  const Client client(server->port());
  client.Say("GET /" + std::string(2 * kMostRequestBytes, 'a'));
  EXPECT_THAT(client.Hear(), ::testing::AnyOf(StartsWith("HTTP/1.1 400 "), ""));
}

TEST_F(HttpServerTest, TakesARequestInPieces) {
  const Client client(server->port());
  for (const char* piece : {"GET /a", "b HTT", "P/1.1\r", "\n\r", "\n"}) client.Say(piece);
  EXPECT_THAT(client.Hear(), HasSubstr("page /ab\n"));
}

TEST_F(HttpServerTest, ServesWhileFiveHundredConnectionsSayNothing) {
  std::vector<std::unique_ptr<Client>> idle;
  for (int i = 0; i < 500; ++i) {
    idle.push_back(std::make_unique<Client>(server->port()));
    ASSERT_TRUE(idle.back()->connected()) << i;
    if (i % 2 == 0) idle.back()->Say("GET /never-ends");
  }
  for (int i = 0; i < 20; ++i) {
    EXPECT_THAT(Ask("GET /metrics HTTP/1.1\r\n\r\n"), HasSubstr("page /metrics\n"));
  }
}

TEST_F(HttpServerTest, ServesWhileOthersTakeNothingOfTheirAnswer) {
  std::vector<std::unique_ptr<Client>> stuck;
  for (int i = 0; i < 4; ++i) {
    stuck.push_back(std::make_unique<Client>(server->port()));
    stuck.back()->TakeLittle();
    stuck.back()->Say("GET /large HTTP/1.1\r\n\r\n");
  }
  EXPECT_THAT(Ask("GET /metrics HTTP/1.1\r\n\r\n"), HasSubstr("page /metrics\n"));
}

TEST_F(HttpServerTest, SendsALargePageWhole) {
  const std::string answer = Ask("GET /large HTTP/1.1\r\n\r\n");
  EXPECT_GT(answer.size(), size_t{16} << 20);
}

TEST_F(HttpServerTest, ServesWhenNoDescriptorIsLeft) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  std::vector<std::unique_ptr<Client>> idle;
  for (int i = 0; i < 40; ++i) idle.push_back(std::make_unique<Client>(server->port()));
  // Connections are accepted in order: when this one is answered, those are.
  EXPECT_THAT(Ask("GET /metrics HTTP/1.1\r\n\r\n"), HasSubstr("page /metrics\n"));
  Client last;
  rlimit low = before;
  low.rlim_cur = static_cast<rlim_t>(dup(0));  // one more is too many
  close(static_cast<int>(low.rlim_cur));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  last.Connect(server->port());
  last.Say("GET /metrics HTTP/1.1\r\n\r\n");
  const std::string answer = last.Hear();  // the oldest made room for it
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_THAT(answer, HasSubstr("page /metrics\n"));
}

TEST_F(HttpServerTest, SaysWhyItCannotListen) {
  const auto second =
      HttpServer::Listen("metrics_listen", base::StrCat("127.0.0.1:", server->port()),
                         [](auto) { return HttpResponse(); });
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr("Address already in use; choose another address with --metrics_listen"));
}

TEST_F(HttpServerTest, IsReadByOurOwnGet) {
  EXPECT_EQ(HttpGet(server->port(), "/metrics").value(), "page /metrics\n");
  EXPECT_EQ(HttpGet(server->port(), "/large").value().size(), 16u << 20);
  const absl::Status no = HttpGet(server->port(), "/no").status();
  EXPECT_EQ(no.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(no.message()), HasSubstr("/no, but \"HTTP/1.1 503"));
  const int port = server->port();
  server = nullptr;
  EXPECT_EQ(HttpGet(port, "/metrics").status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace vixen::telemetry
