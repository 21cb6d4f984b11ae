// SPDX-License-Identifier: Apache-2.0
// An actor and a learner as processes on this machine, over loopback, as their users run them
// (`vixen bench loop`): what each side reaches, and who waits for whom. Figures are those of the
// processes' own /metrics and of the system's CPU clocks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/executors/choose_executor.h"

namespace vixen::bench {

struct LoopBenchOptions {
  std::string actor_program;  // paths
  std::string learner_program;
  std::string dataset;  // empty: bed b2 with 51 features
  kernels::ExecutorWish executor;
  std::string device = "auto";  // of the learner
  uint32_t episodes = 128;
  uint32_t steps = 500;
  int threads = 0;        // CPU executor; 0: half of the processors
  int torch_threads = 0;  // learner on the CPU; 0: the other half
  uint32_t batch_size = 128;
  double samples_per_insert = 0.1;
  uint64_t capacity = 1'000'000;
  double warm_up = 2;                                   // seconds after the first update
  double seconds = 10;                                  // measured
  std::vector<std::string> actor_flags, learner_flags;  // more of them, "name=value"
};

// Shares of the measured time by activity (docs/metrics.md).
using Shares = std::map<std::string, double>;
// Of them, those of waiting for the other side.
double WaitingShare(const Shares& shares);

struct LoopBenchResult {
  std::string executor, device;  // of the actor
  int threads = 0, torch_threads = 0;
  double seconds = 0;  // as it came out
  // Launches of this shape in this process without a learner, before the loop: about the limit of
  // collection. On the random market of `vixen bench kernel` (51 features) with default settings,
  // not on `dataset` with `actor_flags`.
  double executor_transitions_per_second = 0;
  double transitions_per_second = 0;  // collected
  double inserted_per_second = 0;     // into the replay
  double updates_per_second = 0;
  double sent_gigabytes_per_second = 0;
  double actor_cores = 0, learner_cores = 0;  // CPU seconds a second
  Shares actor, learner;

  double share_of_executor() const {
    return transitions_per_second / executor_transitions_per_second;
  }
};

// INTERNAL (a usage error when its exit code is 2) with the last line of its log when a process
// does not start or ends by itself;
// DEADLINE_EXCEEDED when no update comes within a minute. The processes end with the call, and
// their files go; a signal that ends this process leaves the files (vixen-loop-* in TMPDIR).
absl::StatusOr<LoopBenchResult> RunLoopBench(const LoopBenchOptions& options);

// Lines for people.
std::string DescribeLoopBench(const LoopBenchOptions& options, const LoopBenchResult& result);

}  // namespace vixen::bench
