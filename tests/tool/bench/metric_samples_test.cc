// SPDX-License-Identifier: Apache-2.0
#include "bench/loop/metric_samples.h"

#include <gtest/gtest.h>

namespace vixen::bench {
namespace {

constexpr char kPage[] = R"(# HELP rows_total Rows
# TYPE rows_total counter
rows_total{policy="a",group="x"} 3
rows_total{policy="b",group="x"} 4.5
rows_total{policy="b",group="y"} 1e3
rows_total_seconds 7
updates_total 12
broken
not_a_number x
)";

TEST(MetricSamples, SumsTheSeriesOfOneMetric) {
  const MetricSamples samples(kPage);
  EXPECT_EQ(samples.Total("rows_total"), 1007.5);
  EXPECT_EQ(samples.Total("updates_total"), 12);
  EXPECT_EQ(samples.Total("rows"), 0);
  EXPECT_EQ(samples.Total("not_a_number"), 0);
}

TEST(MetricSamples, TellsSeriesApartByALabel) {
  const MetricSamples samples(kPage);
  EXPECT_EQ(samples.By("rows_total", "policy"),
            (std::map<std::string, double>{{"a", 3}, {"b", 1004.5}}));
  EXPECT_EQ(samples.By("updates_total", "policy"), (std::map<std::string, double>{}));
}

}  // namespace
}  // namespace vixen::bench
