// SPDX-License-Identifier: Apache-2.0
// What `vixen bench learner` takes. The measurement is a program of its own, learner_bench: it
// links LibTorch, the tool does not. Both read their command lines by this.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace vixen::bench {

struct LearnerBenchFlags {
  std::string device = "auto", net = "default", precision = "auto", algorithm = "best";
  std::vector<uint32_t> batch_sizes = {128, 1024, 8192};
  uint64_t rows = 1'000'000;      // of the replay, full
  uint64_t updates_a_graph = 32;  // GPU
  uint32_t curiosity_every = 0;   // GPU; 0: the curiosity model is not trained
  int threads = 0;                // CPU; 0: AvailableCpus()
  double seconds = 1;             // of each measurement
  int rounds = 3;
  std::string json;  // file; empty: none

  // `this` must outlive `command`.
  void AddTo(CLI::App& command);
};

}  // namespace vixen::bench
