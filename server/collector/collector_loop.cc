// SPDX-License-Identifier: Apache-2.0
#include "server/collector/collector_loop.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/str_cat.h"
#include "proto/codec/convert.h"
#include "proto/telemetry/log.h"

namespace vixen::server {
namespace {

using Clock = std::chrono::steady_clock;

// A launch is stuck when it takes so many times the longest one.
constexpr double kLongLaunch = 10;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void FillHeader(const Run& run, const Policy& policy, const kernels::Collector& collector,
                const ActiveWeights& weights, uint64_t launch, v1::BatchHeader& header) {
  header.set_run_id(run.run_id);
  header.set_policy(policy.name);
  header.set_launch(launch);
  header.set_episodes(run.collector.episodes);
  header.set_steps(run.collector.steps);
  header.set_online_version(weights.versions[0]);
  header.set_target_version(weights.versions[1]);
  header.set_curiosity_version(run.collector.settings.curiosity_max != 0.0f ? weights.versions[2]
                                                                            : 0);
  header.set_epsilon(weights.epsilon);
  header.set_run_seed(policy.run_seed);
  header.set_settings_sha256(run.settings_sha256);
  header.set_device(base::StrCat(collector.info().executor, ": ", collector.info().device));
}

}  // namespace

CollectorLoop::CollectorLoop(const Run& run, Policies& policies, ActorMetrics& metrics,
                             std::function<void(absl::Status)> on_fatal)
    : run_(run), policies_(policies), metrics_(metrics), on_fatal_(std::move(on_fatal)) {}

CollectorLoop::~CollectorLoop() { Stop(); }

void CollectorLoop::Start() {
  thread_ = std::thread([this] { Loop(); });
}

void CollectorLoop::Notify() {
  std::lock_guard lock(mutex_);
  ++changes_;
  changed_.notify_one();
}

void CollectorLoop::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void CollectorLoop::Loop() {
  while (true) {
    uint64_t seen;
    {
      std::lock_guard lock(mutex_);
      if (stopping_) break;
      seen = changes_;
    }
    const bool launched = LaunchSome();
    if (!under_way_.empty() && (!launched || under_way_.size() >= depth_)) {
      CompleteOldest();
    } else if (!launched) {
      WaitForChange(seen);
    }
  }
  while (!under_way_.empty()) CompleteOldest();
}

void CollectorLoop::WaitForChange(uint64_t seen) {
  Activity cause = Activity::kWaitingCredit;
  for (const std::shared_ptr<Policy>& policy : policies_.All()) {
    if (!policy->delivery.HasCredit()) continue;
    const bool weights_missing = !policy->weights.Missing().empty();
    cause = weights_missing ? Activity::kWaitingWeights : Activity::kWaitingConsumers;
    if (weights_missing) break;
  }
  const Clock::time_point start = Clock::now();
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::seconds(1), [&] { return stopping_ || changes_ != seen; });
  metrics_.Spent(cause, SecondsSince(start));
}

void CollectorLoop::SetOldest(Clock::time_point began) {
  oldest_began_ = began.time_since_epoch().count();
}

void CollectorLoop::NoteLaunch(double seconds) {
  if (seconds > longest_seconds_) longest_seconds_ = seconds;
}

std::optional<std::chrono::duration<double>> CollectorLoop::StuckFor(
    std::chrono::duration<double> deadline) const {
  const Clock::rep began = oldest_began_;
  if (began == 0 || deadline.count() <= 0) return std::nullopt;
  const std::chrono::duration<double> age =
      Clock::now() - Clock::time_point(Clock::duration(began));
  const double allowed = std::max(deadline.count(), kLongLaunch * longest_seconds_);
  return age.count() > allowed ? std::optional(age) : std::nullopt;
}

bool CollectorLoop::LaunchSome() {
  bool launched = false;
  for (const std::shared_ptr<Policy>& policy : policies_.All()) {
    if (under_way_.size() >= depth_) break;
    launched = TryLaunch(policy) || launched;
  }
  return launched;
}

bool CollectorLoop::TryLaunch(const std::shared_ptr<Policy>& policy) {
  kernels::Collector* collector = policy->weights.collector();
  if (collector == nullptr) return false;
  const ActiveWeights weights = policy->weights.Swap();
  if (const absl::Status can = collector->CanLaunch(); !can.ok()) {
    // Missing weights come by a push; anything else does not go away by waiting.
    if (!absl::IsFailedPrecondition(can)) GiveUp(can);
    return false;
  }
  std::optional<Delivery::Ticket> ticket = policy->delivery.Reserve();
  if (!ticket) return false;

  // A synchronous executor gains nothing from a second launch under way.
  depth_ = collector->info().executor == "cpu" ? 1 : 2;
  const uint64_t number = policy->launches.fetch_add(1);
  Launch launch{.policy = policy,
                .ticket = *std::move(ticket),
                .batch = std::make_shared<FinishedBatch>(
                    FinishedBatch{.header = {}, .batch = collector->MakeBatch(true)}),
                .started = Clock::now()};
  FillHeader(run_, *policy, *collector, weights, number, launch.batch->header);
  policy->metrics.launches->Increment();
  policy->metrics.epsilon->Set(weights.epsilon);
  for (size_t kind = 0; kind < weights.versions.size(); ++kind) {
    policy->metrics.weights_version[kind]->Set(static_cast<double>(weights.versions[kind]));
  }
  policy->metrics.weights_skipped->Increment(static_cast<double>(policy->weights.skipped()) -
                                             policy->metrics.weights_skipped->Value());
  if (under_way_.empty()) SetOldest(launch.started);
  const absl::Status started =
      collector->Launch({.seed = policy->run_seed, .launch = number, .epsilon = weights.epsilon},
                        launch.batch->batch);
  metrics_.Spent(Activity::kLaunching, SecondsSince(launch.started));
  if (!started.ok()) {
    if (under_way_.empty()) oldest_began_ = 0;
    LaunchFailed(launch, started);
    return true;
  }
  // Not before: weights may force another precision on a launch than on the one before it.
  launch.batch->header.set_precision(codec::ToProto(collector->info().precision));
  under_way_.push_back(std::move(launch));
  return true;
}

void CollectorLoop::CompleteOldest() {
  const Launch launch = std::move(under_way_.front());
  under_way_.pop_front();
  Policy& policy = *launch.policy;
  const Clock::time_point waiting = Clock::now();
  const absl::Status done = policy.weights.collector()->Wait(launch.batch->batch);
  const Clock::time_point complete = Clock::now();
  metrics_.Spent(Activity::kLaunching, SecondsSince(waiting));
  // The next one begins when this one is out of the device.
  SetOldest(under_way_.empty() ? Clock::time_point() : complete);
  const double seconds = SecondsSince(launch.started);
  policy.metrics.launch_seconds->Observe(seconds);
  if (!done.ok()) return LaunchFailed(launch, done);
  NoteLaunch(seconds);
  failed_in_a_row_ = 0;
  launch.batch->header.set_sequence(policy.delivery.next_sequence());
  launch.batch->header.set_completed_unix_ns(
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                std::chrono::system_clock::now().time_since_epoch())
                                .count()));
  policy.metrics.batches->Increment();
  policy.metrics.AddStatistics(launch.batch->batch.statistics);
  policy.delivery.Publish(launch.ticket, launch.batch);
  metrics_.Spent(Activity::kCopying, SecondsSince(complete));
}

void CollectorLoop::LaunchFailed(const Launch& launch, const absl::Status& status) {
  Policy& policy = *launch.policy;
  policy.delivery.Discard(launch.ticket);
  policy.metrics.failed_launches->Increment();
  ++failed_in_a_row_;
  spdlog::error(
      "launch {} of policy {} failed ({} in a row): {}{}", launch.batch->header.launch(),
      policy.name, failed_in_a_row_, status.ToString(),
      telemetry::Fields({{"policy", policy.name}, {"run_id", telemetry::RunIdText(run_.run_id)}}));
  if (absl::IsDataLoss(status)) return GiveUp(status);
  if (failed_in_a_row_ != run_.max_failed_launches) return;
  GiveUp(absl::InternalError(
      base::StrCat(failed_in_a_row_, " launches in a row failed: ", status.message())));
}

void CollectorLoop::GiveUp(const absl::Status& status) {
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(stopping_, true)) return;
  }
  on_fatal_(status);
}

}  // namespace vixen::server
