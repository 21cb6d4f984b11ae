// SPDX-License-Identifier: Apache-2.0
#include "proto/config/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vixen::config {
namespace {

using ::testing::HasSubstr;

TEST(Address, TakesHostAndPortApart) {
  EXPECT_EQ(ParseAddress("127.0.0.1:50051")->host, "127.0.0.1");
  EXPECT_EQ(ParseAddress("127.0.0.1:50051")->port, 50051);
  EXPECT_EQ(ParseAddress("[::1]:0")->host, "::1");
  EXPECT_EQ(ParseAddress("actor.vixen.svc:65535")->port, 65535);
}

TEST(Address, KnowsLoopback) {
  for (const char* text : {"127.0.0.1:1", "127.255.0.9:1", "[::1]:1", "localhost:1"}) {
    EXPECT_TRUE(ParseAddress(text)->IsLoopback()) << text;
  }
  for (const char* text : {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "example.test:1",
                           "localhost.example.test:1", "127.0.0.1.example.test:1", "128.0.0.1:1"}) {
    EXPECT_FALSE(ParseAddress(text)->IsLoopback()) << text;
  }
}

TEST(Address, SaysWhatIsWrong) {
  for (const auto& [text, why] :
       std::initializer_list<std::pair<const char*, const char*>>{{"", "no port"},
                                                                  {"localhost", "no port"},
                                                                  {":1", "no host"},
                                                                  {"a:", "the port"},
                                                                  {"a:65536", "the port"},
                                                                  {"a:-1", "the port"},
                                                                  {"a:x", "the port"},
                                                                  {"::1:5", "stands in [ ]"},
                                                                  {"[x]:5", "no IPv6"},
                                                                  {"a b:5", "a space"},
                                                                  {"http://a:5", "stands in [ ]"},
                                                                  {"a/b:5", "a space or /"}}) {
    const auto address = ParseAddress(text);
    EXPECT_EQ(address.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(address.status().message()), HasSubstr(why)) << text;
  }
}

}  // namespace
}  // namespace vixen::config
