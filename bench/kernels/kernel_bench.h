// SPDX-License-Identifier: Apache-2.0
// Measures launches of an executor on a random market in memory (`vixen bench kernel`).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/collect/collector.h"

namespace vixen::bench {

struct KernelBenchOptions {
  struct Shape {
    uint32_t episodes;
    uint32_t steps;
  };
  std::vector<Shape> shapes = {{128, 500}, {1024, 100}};
  int repeats = 5;
  int threads = 0;  // 0: AvailableCpus()
  uint32_t bars = 200'000;
  float epsilon = 0.1f;
};

struct KernelBenchRow {
  KernelBenchOptions::Shape shape;
  double median_ms = 0;
  double fastest_ms = 0;
  double slowest_ms = 0;
  double transitions_per_second = 0;  // by the median
  double gflops = 0;                  // of the networks' matrix products, by the median
};

struct KernelBenchResult {
  kernels::CollectorInfo info;
  double ceiling_gflops = 0;  // a plain large matrix product on the same threads, in the same run
  std::vector<KernelBenchRow> rows;
};

// One launch to warm up, then `repeats` measured ones a shape.
absl::StatusOr<KernelBenchResult> RunKernelBench(const KernelBenchOptions& options,
                                                 const kernels::CollectorFactory& factory);

// Floating-point operations of a transition's matrix products: both Q networks and curiosity.
double FlopsPerTransition(const kernels::Architecture& architecture);

// 2·m·n·k over seconds of a 1,024-wide layer on `threads` threads, the best of a few.
double LargeProductGflops(int threads);

// A table for people; the machine, then a line a shape.
std::string DescribeKernelBench(const KernelBenchResult& result);

}  // namespace vixen::bench
