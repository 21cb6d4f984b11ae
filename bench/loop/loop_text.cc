// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "bench/loop/loop_bench.h"

namespace vixen::bench {
namespace {

// "launching 98 %, copying 1 %", the largest first.
std::string ListOf(const Shares& shares) {
  std::vector<std::pair<std::string, double>> sorted(shares.begin(), shares.end());
  std::ranges::sort(sorted, [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [activity, share] : sorted) {
    if (share < 0.005) continue;
    absl::StrAppendFormat(&text, "%s%s %.0f %%", text.empty() ? "" : ", ", activity, 100 * share);
  }
  return text;
}

}  // namespace

double WaitingShare(const Shares& shares) {
  double waiting = 0;
  for (const auto& [activity, share] : shares) {
    if (activity.starts_with("waiting_")) waiting += share;
  }
  return waiting;
}

std::string DescribeLoopBench(const LoopBenchOptions& options, const LoopBenchResult& result) {
  return absl::StrFormat(
      "%s executor, %s, %d x %d; learner: torch_threads %d, batch %d, %g samples an insert; %.1f "
      "s\n"
      "collected %.3f M transitions/s, %.0f %% of the executor's %.3f M alone (on the "
      "kernel bench's market, default settings); sent %.3f GB/s, inserted %.3f M rows/s\n"
      "updates %.1f a second, %.3f M rows sampled a second\n"
      "actor: %s; %.2f cores\n"
      "learner: %s; %.2f cores\n"
      "waiting for the other: the actor %.0f %%, the learner %.0f %%\n",
      result.executor, result.device, options.episodes, options.steps, result.torch_threads,
      options.batch_size, options.samples_per_insert, result.seconds,
      1e-6 * result.transitions_per_second, 100 * result.share_of_executor(),
      1e-6 * result.executor_transitions_per_second, result.sent_gigabytes_per_second,
      1e-6 * result.inserted_per_second, result.updates_per_second,
      1e-6 * result.updates_per_second * options.batch_size, ListOf(result.actor),
      result.actor_cores, ListOf(result.learner), result.learner_cores,
      100 * WaitingShare(result.actor), 100 * WaitingShare(result.learner));
}

}  // namespace vixen::bench
