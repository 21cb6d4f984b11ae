// SPDX-License-Identifier: Apache-2.0
#include "bench/stream/ready_collector.h"

#include <utility>

namespace vixen::bench {
namespace {

constexpr size_t kKept = 16;

// Values as different as real ones, so that nothing compresses that would not.
void FillRows(const kernels::CollectorOptions& options, kernels::Batch& batch) {
  const kernels::BatchView view = batch.view();
  uint64_t state = 1;
  const auto next = [&state] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state >> 33);
  };
  const auto real = [&next] { return static_cast<float>(next()) * 0x1p-31f; };
  for (size_t row = 0; row < batch.rows(); ++row) {
    view.bar[row] = next() % (options.market.bars - 1);
    view.episode[row] = static_cast<uint32_t>(row);
    view.action[row] = static_cast<uint8_t>(next() % kernels::kActions);
    view.flags[row] = kernels::kFlagValid;
    view.reward[row] = real() - 0.5f;
    view.td[row] = real();
    for (size_t k = 0; k < kernels::kPortfolioFeatures; ++k) {
      view.portfolio[row * kernels::kPortfolioFeatures + k] = real();
      view.next_portfolio[row * kernels::kPortfolioFeatures + k] = real();
    }
  }
}

}  // namespace

ReadyCollector::ReadyCollector(const kernels::CollectorOptions& options)
    : options_(options),
      buffers_(kernels::Batch::PayloadBytes(size_t{options.episodes} * options.steps, true),
               kKept) {
  info_.executor = "cpu";
  info_.device = "rows that are ready";
  info_.algorithm = "none";
  info_.reason = "measures the transport";
}

kernels::Batch ReadyCollector::MakeBatch(bool with_terms) {
  return {options_.episodes, options_.steps, with_terms, buffers_.Take()};
}

absl::StatusOr<kernels::WeightsProbe> ReadyCollector::StageWeights(
    const kernels::Parameters& parameters) {
  kernels::WeightsProbe probe;
  probe.sha256 = kernels::ParametersSha256(parameters);
  probe.precision = kernels::Precision::kFp32;
  return probe;
}

void ReadyCollector::CommitWeights(kernels::WeightsKind kind) {
  online_ = online_ || kind == kernels::WeightsKind::kOnline;
  target_ = target_ || kind == kernels::WeightsKind::kTarget;
}

absl::Status ReadyCollector::CanLaunch() const {
  return online_ && target_ ? absl::OkStatus()
                            : absl::FailedPreconditionError("weights are missing");
}

absl::Status ReadyCollector::Launch(const kernels::LaunchRequest& /*request*/,
                                    kernels::Batch& batch) {
  if (batch.view().flags[0] == 0) FillRows(options_, batch);
  batch.statistics.valid_rows = batch.rows();
  return absl::OkStatus();
}

absl::Status ReadyCollector::Wait(kernels::Batch& /*batch*/) { return absl::OkStatus(); }

absl::StatusOr<std::unique_ptr<kernels::Collector>> MakeReadyCollector(
    const kernels::CollectorOptions& options) {
  return std::make_unique<ReadyCollector>(options);
}

}  // namespace vixen::bench
