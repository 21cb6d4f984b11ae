// SPDX-License-Identifier: Apache-2.0
// Measures the replay on the processor, one thread (`vixen bench replay`). On a GPU it is part of
// the update's graph and of `vixen bench learner`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vixen::bench {

struct ReplayBenchOptions {
  std::vector<uint64_t> rows = {200'000, 1'000'000};  // capacities, each full
  uint32_t batch_size = 1024;
  uint32_t n_step = 1;
  double alpha = 0.6;
  double seconds = 0.5;  // of each measurement
  int rounds = 3;        // ours, limit and peer take turns
};

// Rows a second: the median, least and most of the rounds.
struct ReplayRate {
  std::string program;
  double rows_per_second = 0;
  double slowest = 0;
  double fastest = 0;
  double rows_per_cpu_second = 0;  // says more where others are at work
};

// One case at one capacity.
struct ReplayBenchRow {
  std::string name;         // "form rows", "insert", "draw + update"
  uint64_t rows = 0;        // capacity
  uint64_t batch_size = 0;  // rows of one call
  ReplayRate ours;
  ReplayRate limit;  // what moving the rows alone would take
  std::optional<ReplayRate> peer;

  double milliseconds() const {
    return 1e3 * static_cast<double>(batch_size) / ours.rows_per_second;
  }
};

std::vector<ReplayBenchRow> RunReplayBench(const ReplayBenchOptions& options);

// A table for people.
std::string DescribeReplayBench(const std::vector<ReplayBenchRow>& rows);

}  // namespace vixen::bench
