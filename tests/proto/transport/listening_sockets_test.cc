// SPDX-License-Identifier: Apache-2.0
#include "proto/transport/listening_sockets.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>

#include "base/str_cat.h"

namespace vixen::transport {
namespace {

constexpr char kHere[] = "127.0.0.1";
constexpr char kElsewhere[] = "192.0.2.1";  // kept for documentation: no machine has it

// The list as getaddrinfo would give it.
class Addresses {
 public:
  explicit Addresses(const std::vector<const char*>& hosts)
      : sockets_(hosts.size()), list_(hosts.size()) {
    for (size_t i = 0; i < hosts.size(); ++i) {
      sockets_[i].sin_family = AF_INET;
      EXPECT_EQ(inet_pton(AF_INET, hosts[i], &sockets_[i].sin_addr), 1);
      list_[i].ai_family = AF_INET;
      list_[i].ai_socktype = SOCK_STREAM;
      list_[i].ai_addr = reinterpret_cast<sockaddr*>(&sockets_[i]);
      list_[i].ai_addrlen = sizeof(sockaddr_in);
      if (i > 0) list_[i - 1].ai_next = &list_[i];
    }
  }
  addrinfo* first() { return list_.data(); }

 private:
  std::vector<sockaddr_in> sockets_;
  std::vector<addrinfo> list_;
};

TEST(ListeningSockets, AnAddressThatThisMachineHasNotIsPassedOverWhereverItStands) {
  for (const std::vector<const char*>& hosts :
       {std::vector<const char*>{kElsewhere, kHere}, {kHere, kElsewhere}}) {
    Addresses addresses(hosts);
    auto opened = ListenOnAll(addresses.first());
    ASSERT_TRUE(opened.ok()) << opened.status();
    EXPECT_EQ(opened->sockets.size(), 1u);
    EXPECT_GT(opened->port, 0);
    CloseAll(opened->sockets);
  }
}

TEST(ListeningSockets, NoAddressOfThisMachineIsAnError) {
  Addresses addresses({kElsewhere, kElsewhere});
  const auto opened = ListenOnAll(addresses.first());
  EXPECT_EQ(opened.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(opened.status().message(), std::strerror(EADDRNOTAVAIL));
}

TEST(ListeningSockets, ATakenPortIsAnErrorAndAFreedOneIsNot) {
  auto taken = OpenListeningSockets(base::StrCat(kHere, ":0"));
  ASSERT_TRUE(taken.ok()) << taken.status();
  const std::string address = base::StrCat(kHere, ":", taken->port);
  const auto again = OpenListeningSockets(address);
  EXPECT_EQ(again.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(again.status().message(), std::strerror(EADDRINUSE));
  CloseAll(taken->sockets);
  auto freed = OpenListeningSockets(address);
  ASSERT_TRUE(freed.ok()) << freed.status();
  CloseAll(freed->sockets);
}

}  // namespace
}  // namespace vixen::transport
