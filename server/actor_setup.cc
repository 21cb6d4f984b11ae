// SPDX-License-Identifier: Apache-2.0
#include "server/actor_setup.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/cpu_count.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "base/version.h"
#include "kernels/executors/market_view.h"
#include "proto/codec/column_layout.h"
#include "proto/codec/convert.h"
#include "proto/config/config_file.h"
#include "proto/config/settings.h"

namespace vixen::server {
namespace {

constexpr uint32_t kTrialSteps = 8;

absl::StatusOr<kernels::CollectorOptions> OptionsOf(const v1::ActorConfig& config,
                                                    const market::Dataset& dataset) {
  const v1::EnvironmentSettings& environment = config.environment();
  VIXEN_ASSIGN_OR_RETURN(const market::BarRange range,
                         dataset.EffectiveRange(environment.begin(), environment.end()));
  kernels::CollectorOptions options;
  options.settings = config::ToEnvSettings(environment);
  options.market = kernels::MarketViewOf(dataset, range);
  options.architecture = config::ToArchitecture(config.network(), dataset.feature_count());
  options.episodes = environment.episodes();
  options.steps = environment.steps();
  options.precision = config::ToPrecision(config.execution().precision());
  options.threads = static_cast<int>(config.execution().threads());
  return options;
}

// Hands out an executor that exists already, then makes more.
kernels::CollectorFactory WithSpare(std::unique_ptr<kernels::Collector> spare,
                                    kernels::CollectorFactory make) {
  struct Shared {
    std::mutex mutex;
    std::unique_ptr<kernels::Collector> spare;
  };
  auto shared = std::make_shared<Shared>();
  shared->spare = std::move(spare);
  return [shared, make = std::move(make)](const kernels::CollectorOptions& options)
             -> absl::StatusOr<std::unique_ptr<kernels::Collector>> {
    {
      std::lock_guard lock(shared->mutex);
      if (shared->spare) return std::move(shared->spare);
    }
    return make(options);
  };
}

// The time that a launch of all steps is expected to take, from one of kTrialSteps.
absl::StatusOr<std::chrono::duration<double>> TrialLaunch(
    kernels::CollectorOptions options, const kernels::CollectorFactory& make_collector) {
  const uint32_t steps = options.steps;
  options.steps = std::min(steps, kTrialSteps);
  VIXEN_ASSIGN_OR_RETURN(const std::unique_ptr<kernels::Collector> collector,
                         make_collector(options));
  for (const auto kind : {kernels::WeightsKind::kOnline, kernels::WeightsKind::kTarget,
                          kernels::WeightsKind::kCuriosity}) {
    const size_t count = kernels::ParameterCount(options.architecture, kind);
    VIXEN_RETURN_IF_ERROR(
        collector->StageWeights({options.architecture, kind, std::vector<float>(count)}).status());
    collector->CommitWeights(kind);
  }
  kernels::Batch batch = collector->MakeBatch(true);
  const auto start = std::chrono::steady_clock::now();
  VIXEN_RETURN_IF_ERROR(collector->Launch({.seed = 1, .launch = 0, .epsilon = 0}, batch));
  VIXEN_RETURN_IF_ERROR(collector->Wait(batch));
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  return time * (static_cast<double>(steps) / options.steps);
}

void LogMemoryPlan(const Run& run, const kernels::CollectorInfo& executor, uint64_t dataset_bytes) {
  constexpr double kMiB = 1 << 20;
  v1::Encoding with_terms;
  with_terms.set_terms(true);
  const auto layout = codec::ColumnLayout::Of(with_terms, run.collector.architecture.state());
  const auto batch =
      static_cast<double>(layout->PayloadBytes(run.collector.episodes, run.collector.steps));
  const double kept = batch * (run.limits.retain_batches() + 2);
  spdlog::info(
      "memory plan: dataset {:.1f} MiB, executor {:.1f} MiB a policy, a batch {:.1f} MiB, at most "
      "{:.1f} MiB of batches a group; the machine allows {:.0f} MiB",
      static_cast<double>(dataset_bytes) / kMiB,
      static_cast<double>(executor.workspace_bytes) / kMiB, batch / kMiB, kept / kMiB,
      static_cast<double>(base::AvailableMemoryBytes()) / kMiB);
  if (!executor.memory_plan.empty()) {
    spdlog::info("memory plan of the GPU, a policy: {}", executor.memory_plan);
  }
}

v1::GetInfoResponse InfoOf(const v1::ActorConfig& config, const market::Dataset& dataset,
                           const DatasetFile& file, const Run& run,
                           const kernels::CollectorInfo& executor) {
  v1::GetInfoResponse info;
  info.set_version(std::string(base::Version()));
  info.set_run_id(run.run_id);
  info.set_episodes(run.collector.episodes);
  info.set_steps(run.collector.steps);
  *info.mutable_architecture() = codec::ToProto(run.collector.architecture);
  v1::DatasetInfo& data = *info.mutable_dataset();
  data.set_fingerprint(base::BytesOf(run.dataset_fingerprint));
  data.set_scaler_fingerprint(base::BytesOf(run.scaler_fingerprint));
  data.set_bars(dataset.bars());
  data.set_begin(run.collector.market.begin);
  data.set_end(run.collector.market.end);
  data.set_segments(
      static_cast<uint64_t>(std::count(dataset.last().begin(), dataset.last().end(), uint8_t{1})));
  data.set_source(dataset.source());
  data.set_file_bytes(file.size());
  for (const std::string& name : dataset.feature_names()) data.add_feature_names(name);
  info.set_settings(run.settings);
  info.set_configuration(config::EffectiveText(config));
  info.set_executor(executor.executor);
  info.set_device(executor.device);
  info.set_algorithm(executor.algorithm);
  info.set_algorithm_reason(executor.reason);
  info.set_precision(codec::ToProto(executor.precision));
  info.set_max_weights_bytes(run.limits.max_weights_bytes());
  return info;
}

}  // namespace

kernels::ExecutorWish ToExecutorWish(const v1::ExecutorSettings& execution) {
  kernels::ExecutorWish wish;
  switch (execution.executor()) {
    case v1::EXECUTOR_AUTO:
      wish.kind = kernels::ExecutorKind::kAuto;
      break;
    case v1::EXECUTOR_CPU:
      wish.kind = kernels::ExecutorKind::kCpu;
      break;
    case v1::EXECUTOR_CUDA:
      wish.kind = kernels::ExecutorKind::kCuda;
      break;
  }
  wish.gpu = static_cast<int>(execution.gpu());
  switch (execution.algorithm()) {
    case v1::ALGORITHM_AUTO:
      wish.algorithm = kernels::CudaAlgorithm::kAuto;
      break;
    case v1::ALGORITHM_STEPPED:
      wish.algorithm = kernels::CudaAlgorithm::kStepped;
      break;
    case v1::ALGORITHM_TILED:
      wish.algorithm = kernels::CudaAlgorithm::kTiled;
      break;
    case v1::ALGORITHM_TILED_MMA:
      wish.algorithm = kernels::CudaAlgorithm::kTiledMma;
      break;
    case v1::ALGORITHM_RESIDENT_SINGLE:
      wish.algorithm = kernels::CudaAlgorithm::kResidentSingle;
      break;
    case v1::ALGORITHM_RESIDENT:
      wish.algorithm = kernels::CudaAlgorithm::kResident;
      break;
  }
  return wish;
}

absl::StatusOr<ActorSetup> SetUpActor(const v1::ActorConfig& given,
                                      const kernels::CollectorFactory& make_collector, bool warm_up,
                                      const std::function<void(std::string)>& phase) {
  v1::ActorConfig config = given;
  phase(base::StrCat("loading the dataset ", config.dataset()));
  VIXEN_ASSIGN_OR_RETURN(std::shared_ptr<const market::Dataset> dataset,
                         market::Dataset::Load(config.dataset()));
  VIXEN_ASSIGN_OR_RETURN(DatasetFile file, DatasetFile::Open(config.dataset()));
  // Resolved here, so that the settings that consumers and records hold name the range that is run.
  v1::EnvironmentSettings& environment = *config.mutable_environment();
  environment.set_end(dataset->TrainingEnd(environment.end()));
  Run run;
  run.run_id = RandomRunId();
  run.execution = config.execution();
  VIXEN_ASSIGN_OR_RETURN(run.collector, OptionsOf(config, *dataset));
  run.settings = config::SettingsBytes(environment);
  run.settings_sha256 = base::BytesOf(base::Sha256Of(run.settings));
  run.dataset_fingerprint = dataset->fingerprint();
  run.scaler_fingerprint = dataset->scaler_fingerprint();
  run.limits = config.stream();
  std::chrono::duration<double> expected{0};
  if (warm_up) {
    phase("warming up: a trial launch");
    VIXEN_ASSIGN_OR_RETURN(expected, TrialLaunch(run.collector, make_collector));
  }
  phase("making the executor");
  VIXEN_ASSIGN_OR_RETURN(std::unique_ptr<kernels::Collector> first, make_collector(run.collector));
  const kernels::CollectorInfo executor = first->info();
  run.make_collector = WithSpare(std::move(first), make_collector);
  spdlog::info("dataset {}: {} bars, range {} to {}, {} features, fingerprint {}", config.dataset(),
               dataset->bars(), run.collector.market.begin, run.collector.market.end,
               dataset->feature_count(), base::ToHex(dataset->fingerprint()));
  spdlog::info("executor {}: {}, {} ({})", executor.executor, executor.device, executor.algorithm,
               executor.reason);
  LogMemoryPlan(run, executor, file.size());
  v1::GetInfoResponse info = InfoOf(config, *dataset, file, run, executor);
  return ActorSetup{.dataset = std::move(dataset),
                    .dataset_file = std::move(file),
                    .run = std::move(run),
                    .executor = executor,
                    .info = std::move(info),
                    .expected_launch = expected};
}

}  // namespace vixen::server
