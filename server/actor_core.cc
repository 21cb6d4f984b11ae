// SPDX-License-Identifier: Apache-2.0
#include "server/actor_core.h"

#include <chrono>
#include <utility>

namespace vixen::server {

ActorCore::ActorCore(ActorSetup actor_setup, ActorMetrics& metrics, bool forget_finish,
                     std::function<void(absl::Status)> on_fatal,
                     std::function<void()> request_drain)
    : setup(std::move(actor_setup)),
      policies(setup.run, metrics, [this] { loop.Notify(); }),
      intake(setup.run, policies, metrics),
      streams(setup.run.limits.max_streams(),
              std::chrono::duration<double>(setup.run.limits.progress_deadline_seconds()), metrics),
      loop(setup.run, policies, metrics, std::move(on_fatal)),
      state{.run = setup.run,
            .metrics = metrics,
            .policies = policies,
            .intake = intake,
            .streams = streams,
            .staging = staging,
            .encoding = encoding,
            .dataset_file = setup.dataset_file,
            .notify_collector = [this] { loop.Notify(); },
            .request_drain = std::move(request_drain),
            .info = setup.info,
            .started = std::chrono::steady_clock::now(),
            .forget_finish = forget_finish} {}

}  // namespace vixen::server
