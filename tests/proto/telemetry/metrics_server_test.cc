// SPDX-License-Identifier: Apache-2.0
#include "proto/telemetry/metrics_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/str_cat.h"
#include "proto/telemetry/process_collector.h"
#include "tests/http_get.h"

namespace vixen::telemetry {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(MetricsServer, ServesEverySourceAndTheProbes) {
  bool ready = false;
  auto server = MetricsServer::Listen("127.0.0.1:0",
                                      {{"/readyz", [&] {
                                          return ProbeAnswer{ready, ready ? "ready" : "loading"};
                                        }}});
  ASSERT_TRUE(server.ok()) << server.status();
  auto registry = std::make_shared<prometheus::Registry>();
  prometheus::BuildCounter().Name("a_total").Help("A").Register(*registry).Add({}).Increment(3);
  (*server)->Add(registry);
  (*server)->Add(std::make_shared<ProcessCollector>());
  const auto get = [&](const char* path) { return testing::HttpAnswer((*server)->port(), path); };

  const std::string metrics = get("/metrics");
  EXPECT_THAT(metrics, StartsWith("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4"));
  EXPECT_THAT(metrics, HasSubstr("\n# TYPE a_total counter\na_total 3\n"));
  for (const char* name : {"process_threads ", "process_open_fds ", "vixen_memory_limit_bytes ",
                           "vixen_cpu_limit_cores ", "vixen_scrape_seconds_count 0"}) {
    EXPECT_THAT(metrics, HasSubstr(base::StrCat("\n", name)));
  }
  EXPECT_THAT(get("/metrics"), HasSubstr("\nvixen_scrape_seconds_count 1\n"));
  EXPECT_THAT(get("/readyz"), StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(get("/readyz"), HasSubstr("\r\n\r\nloading\n"));
  ready = true;
  EXPECT_THAT(get("/readyz"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(get("/other"), StartsWith("HTTP/1.1 404 "));
}

}  // namespace
}  // namespace vixen::telemetry
