// SPDX-License-Identifier: Apache-2.0
// The rate of the batch stream over loopback: the real service and the real client code in two
// processes, with rows that are ready.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace vixen::bench {

struct StreamBenchOptions {
  struct Shape {
    uint32_t episodes;
    uint32_t steps;
  };
  std::vector<Shape> shapes = {{128, 500}, {1024, 256}};
  std::vector<uint64_t> chunk_bytes = {2 << 20};
  double seconds = 2;  // of each measurement
  int rounds = 3;      // the kinds take turns
  // With certificates (scripts/dev-certs.sh) the stream is measured under mTLS as well.
  std::string certificates;
};

// One kind of stream for one shape; medians over the rounds.
struct StreamBenchRow {
  std::string kind;  // "batch stream", "batch stream, mTLS", "one message a batch"
  StreamBenchOptions::Shape shape{};
  uint64_t batch_bytes = 0;
  uint64_t chunk_bytes = 0;  // 0: the whole batch
  double gigabytes_per_second = 0;
  double slowest = 0;
  double fastest = 0;
  double sender_cpu_seconds_per_gigabyte = 0;
  double receiver_cpu_seconds_per_gigabyte = 0;
};

absl::StatusOr<std::vector<StreamBenchRow>> RunStreamBench(const StreamBenchOptions& options);

std::string DescribeStreamBench(const std::vector<StreamBenchRow>& rows);

}  // namespace vixen::bench
