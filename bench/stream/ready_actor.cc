// SPDX-License-Identifier: Apache-2.0
#include "bench/stream/ready_actor.h"

#include <utility>

#include "base/status_macros.h"
#include "bench/stream/ready_collector.h"
#include "market/dataset.h"
#include "proto/config/effective.h"

namespace vixen::bench {

absl::Status WriteBenchDataset(const std::string& path) {
  constexpr uint32_t kBars = 100;
  market::Dataset::Parts parts;
  parts.feature_names = {"f"};
  for (uint32_t bar = 0; bar < kBars; ++bar) {
    parts.features.push_back(0.01f * static_cast<float>(bar % 7));
    for (const float price : {100.0f, 100.0f, 101.0f, 99.0f}) parts.targets.push_back(price);
    parts.last.push_back(bar + 1 == kBars ? 1 : 0);
    parts.timestamp.push_back(int64_t{60'000'000'000} * bar);
  }
  parts.scaler.mean = {0.0};
  parts.scaler.scale = {1.0};
  parts.source = "bench";
  VIXEN_ASSIGN_OR_RETURN(const auto dataset, market::Dataset::Create(std::move(parts)));
  return dataset->Write(path);
}

absl::StatusOr<std::unique_ptr<server::Actor>> StartReadyActor(const std::string& dataset,
                                                               uint32_t episodes, uint32_t steps,
                                                               uint64_t chunk_bytes,
                                                               const v1::TlsSettings& tls) {
  v1::ActorConfig config;
  config.set_listen("127.0.0.1:0");
  config.set_metrics_listen("");
  config.set_dataset(dataset);
  config.mutable_environment()->set_episodes(episodes);
  config.mutable_environment()->set_steps(steps);
  config.mutable_environment()->set_curiosity_max(0);
  config.mutable_stream()->set_chunk_bytes(chunk_bytes);
  *config.mutable_tls() = tls;
  config::FillDefaults(config);
  return server::Actor::Start(config, MakeReadyCollector);
}

}  // namespace vixen::bench
