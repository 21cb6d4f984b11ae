// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <memory>
#include <string>

#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "bench/kernels/random_policy.h"
#include "kernels/executors/choose_executor.h"
#include "tool/doctor/finding.h"

namespace vixen::tool {
namespace {

// The default shape's N, on which the algorithm depends, and few steps.
constexpr uint32_t kEpisodes = 128;
constexpr uint32_t kSteps = 32;
constexpr uint32_t kBars = 4096;

absl::StatusOr<std::string> TryALaunch(const kernels::ChosenExecutor& chosen) {
  const bench::RandomMarket market(kBars, kernels::Architecture().features, 1);
  kernels::CollectorOptions options;
  options.market = market.view;
  options.episodes = kEpisodes;
  options.steps = kSteps;
  VIXEN_ASSIGN_OR_RETURN(const auto collector, chosen.make(options));
  for (const auto kind : {kernels::WeightsKind::kOnline, kernels::WeightsKind::kTarget,
                          kernels::WeightsKind::kCuriosity}) {
    VIXEN_RETURN_IF_ERROR(
        collector->StageWeights(bench::RandomParameters(options.architecture, kind, 1)).status());
    collector->CommitWeights(kind);
  }
  kernels::Batch batch = collector->MakeBatch(true);
  const auto start = std::chrono::steady_clock::now();
  VIXEN_RETURN_IF_ERROR(collector->Launch({.seed = 1, .launch = 0, .epsilon = 0.1f}, batch));
  VIXEN_RETURN_IF_ERROR(collector->Wait(batch));
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - start;
  const kernels::CollectorInfo& info = collector->info();
  return absl::StrFormat("%s on %s (%s): %s, %s (%s); a launch of %d × %d took %.1f ms",
                         info.executor, info.device, chosen.reason, info.algorithm,
                         kernels::PrecisionName(info.precision), info.reason, kEpisodes, kSteps,
                         elapsed.count());
}

}  // namespace

Finding ExamineExecutor() {
  const auto chosen = kernels::ChooseExecutor({});
  const auto text = chosen.ok() ? TryALaunch(*chosen) : chosen.status();
  if (text.ok()) return {"executor", Verdict::kOk, *text, ""};
  return {"executor", Verdict::kFail, std::string(text.status().message()),
          "--executor cpu runs on any machine; for a GPU see the findings above"};
}

}  // namespace vixen::tool
