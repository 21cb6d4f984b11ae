// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>
#include <vector>

#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "kernels/collect/collector.h"
#include "kernels/executors/market_view.h"
#include "proto/codec/convert.h"
#include "proto/config/settings.h"
#include "tool/collect/sources.h"
#include "tool/eval/policy_inputs.h"

namespace vixen::tool {
namespace {

std::string BytesOf(const base::Sha256Digest& digest) {
  return std::string(reinterpret_cast<const char*>(digest.data()), digest.size());
}

absl::Status CommitAll(const PolicyInputs& inputs, bool with_curiosity,
                       kernels::Collector& collector) {
  std::vector<const kernels::Parameters*> kinds = {&inputs.weights.online, &inputs.weights.target};
  if (with_curiosity) kinds.push_back(&inputs.weights.curiosity);
  for (const kernels::Parameters* parameters : kinds) {
    VIXEN_RETURN_IF_ERROR(collector.StageWeights(*parameters).status());
    collector.CommitWeights(parameters->kind);
  }
  return collector.CanLaunch();
}

}  // namespace

absl::Status CollectLocally(const LocalSource& source, uint64_t launches, const BatchSink& sink) {
  VIXEN_ASSIGN_OR_RETURN(const PolicyInputs inputs, LoadPolicyInputs(source.data, source.weights));
  const market::Dataset& dataset = *inputs.dataset;
  v1::EnvironmentSettings environment = source.environment;
  environment.set_end(dataset.TrainingEnd(environment.end()));
  VIXEN_ASSIGN_OR_RETURN(const market::BarRange range,
                         dataset.EffectiveRange(environment.begin(), environment.end()));
  kernels::CollectorOptions options;
  options.settings = config::ToEnvSettings(environment);
  options.architecture = inputs.weights.online.architecture;
  options.episodes = environment.episodes();
  options.steps = environment.steps();
  options.precision = source.executor.precision;
  options.market = kernels::MarketViewOf(dataset, range);
  const bool with_curiosity = options.settings.curiosity_max > 0;
  if (with_curiosity && inputs.weights.curiosity.values.empty()) {
    return absl::FailedPreconditionError(
        base::StrCat(source.weights, ": has no curiosity weights, which curiosity_max = ",
                     options.settings.curiosity_max, " needs; give --curiosity_max 0"));
  }
  VIXEN_ASSIGN_OR_RETURN(const kernels::ChosenExecutor chosen, source.executor.Choose());
  VIXEN_ASSIGN_OR_RETURN(const auto collector, chosen.make(options));
  VIXEN_RETURN_IF_ERROR(CommitAll(inputs, with_curiosity, *collector));

  codec::RecordedBatch recorded{.batch = kernels::Batch(options.episodes, options.steps, true)};
  recorded.settings = config::SettingsBytes(environment);
  recorded.architecture = codec::ToProto(options.architecture);
  recorded.dataset_fingerprint = BytesOf(dataset.fingerprint());
  recorded.scaler_fingerprint = BytesOf(dataset.scaler_fingerprint());
  const auto policy = inputs.metadata.find("policy");
  v1::BatchHeader& header = recorded.header;
  header.set_policy(policy == inputs.metadata.end() || policy->second.empty() ? "local"
                                                                              : policy->second);
  header.set_episodes(options.episodes);
  header.set_steps(options.steps);
  header.set_online_version(inputs.weights.online_version);
  header.set_target_version(inputs.weights.target_version);
  header.set_curiosity_version(with_curiosity ? inputs.weights.curiosity_version : 0);
  header.set_epsilon(source.epsilon);
  header.set_run_seed(source.seed);
  header.set_settings_sha256(BytesOf(base::Sha256Of(recorded.settings)));
  header.set_precision(codec::ToProto(collector->info().precision));
  header.set_device(base::StrCat(collector->info().executor, ": ", collector->info().device));
  header.set_payload_bytes(recorded.batch.payload().size());
  header.set_delivery(1);
  for (uint64_t launch = 0; launch < launches; ++launch) {
    const kernels::LaunchRequest request{
        .seed = source.seed, .launch = launch, .epsilon = source.epsilon};
    VIXEN_RETURN_IF_ERROR(collector->Launch(request, recorded.batch));
    VIXEN_RETURN_IF_ERROR(collector->Wait(recorded.batch));
    header.set_launch(launch);
    header.set_sequence(launch);
    *recorded.trailer.mutable_statistics() = codec::ToProto(recorded.batch.statistics);
    VIXEN_RETURN_IF_ERROR(sink(recorded));
  }
  return absl::OkStatus();
}

}  // namespace vixen::tool
