// SPDX-License-Identifier: Apache-2.0
// What the learner says of its updates beside the loss, and what it keeps of one that failed.
#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/tensor_file.h"
#include "learner/loop/learner.h"

namespace vixen::learner {
namespace {

// One row in so many is looked at: enough for distributions, and next to no time.
constexpr size_t kStride = 16;
constexpr size_t kMostValues = 4096;  // a log line

}  // namespace

void Learner::Observe(const UpdatesMade& made) {
  const Sample& sample = *made.sample;
  const size_t rows = sample.slot.size();
  for (LogWindow* window : {&window_, &progress_window_}) {
    for (const UpdateStatistics& statistics : made.statistics) window->Add(statistics);
    window->samples += rows * made.statistics.size();
    window->effective_samples += made.effective_samples;
  }
  const Clock::time_point now = Clock::now();
  const bool room = window_.abs_td.size() + rows / kStride < kMostValues;
  for (size_t i = updates_ % std::min(kStride, rows); i < rows; i += kStride) {
    metrics_.sampled_td.Observe(made.abs_td[i]);
    metrics_.sampled_q.Observe(made.taken_q[i]);
    if (room) {
      window_.abs_td.push_back(made.abs_td[i]);
      window_.taken_q.push_back(made.taken_q[i]);
    }
    const std::optional<RowAges::Origin> origin = ages_.Of(sample.generation[i]);
    if (!origin.has_value()) continue;
    const uint64_t own = version_[0];
    const double versions =
        own > origin->version ? static_cast<double>(own - origin->version) : 0.0;
    const double seconds = std::chrono::duration<double>(now - origin->inserted).count();
    metrics_.sampled_age_versions.Observe(versions);
    metrics_.sampled_age_seconds.Observe(seconds);
    if (!room) continue;
    window_.age_versions.push_back(versions);
    window_.age_seconds.push_back(seconds);
  }
}

absl::Status Learner::KeepFailedBatch(const absl::Status& error) const {
  if (plan_.config.out().empty()) return error;
  const std::string path = absl::StrCat(plan_.config.out(), "/failed-batch.safetensors");
  const absl::StatusOr<const Minibatch*> minibatch = updater_->minibatch();
  if (!minibatch.ok()) {
    return absl::Status(
        error.code(),
        absl::StrCat(error.message(), "; its batch is lost: ", minibatch.status().message()));
  }
  const Minibatch& batch = **minibatch;
  const auto rows = static_cast<int64_t>(batch.rows);
  base::TensorFileWriter writer;
  writer.Metadata("error", std::string(error.message()))
      .Metadata("update", std::to_string(updates_ + 1))
      .Metadata("online_version", std::to_string(version_[0]))
      .Tensor<float>("states", {2 * rows, static_cast<int64_t>(batch.state)}, batch.states)
      .Tensor<uint8_t>("action", {rows}, batch.action)
      .Tensor<float>("reward", {rows}, batch.reward)
      .Tensor<float>("discount", {rows}, batch.discount)
      .Tensor<float>("weight", {rows}, batch.weight)
      .Tensor<uint32_t>("slot", {rows}, batch.slot);
  const absl::Status written = writer.Write(path);
  return absl::Status(
      error.code(),
      absl::StrCat(error.message(), "; its batch is ",
                   written.ok() ? absl::StrCat("in ", path)
                                : absl::StrCat("lost: ", std::string(written.message()))));
}

double Learner::LearnersNeeded(double window_seconds) {
  const double starved = learner_wait_ - std::exchange(learner_wait_reported_, learner_wait_);
  const double idle = actor_wait_ - std::exchange(actor_wait_reported_, actor_wait_);
  const double busy = window_seconds - starved, running = window_seconds - idle;
  if (window_.samples == 0 || window_.rows == 0 || busy <= 0 || running <= 0) return -1;
  const double able = static_cast<double>(window_.samples) / busy;
  const double offered = static_cast<double>(window_.rows) / running;
  const double ranks = ranks_ == nullptr ? 1.0 : static_cast<double>(ranks_->size());
  return ranks * plan_.config.limiter().samples_per_insert() * offered / able;
}

void Learner::SetGauges(const LogState& state) {
  metrics_.replay_rows.Set(static_cast<double>(state.replay_rows));
  metrics_.epsilon.Set(state.epsilon);
  metrics_.online_version.Set(static_cast<double>(state.online_version));
  metrics_.CountActions(window_.actions);
  if (const auto updates = static_cast<double>(window_.updates); updates > 0) {
    metrics_.loss.Set(window_.loss / updates);
    metrics_.mean_abs_td.Set(window_.mean_abs_td / updates);
    metrics_.mean_q.Set(window_.mean_q / updates);
    metrics_.gradient_norm.Set(window_.gradient_norm / updates);
    metrics_.clipped_share.Set(window_.clipped_rows / updates);
    metrics_.effective_sample_share.Set(window_.effective_samples / updates);
  }
  const kernels::LaunchStatistics& launches = window_.launches;
  const auto rows = static_cast<double>(launches.valid_rows);
  if (rows == 0) return;
  const std::array<double, kernels::kRewardTerms> shares = VarianceShares(launches);
  for (size_t i = 0; i < shares.size(); ++i) {
    metrics_.reward_variance_share[i]->Set(shares[i]);
    metrics_.exposure_share[i]->Set(static_cast<double>(launches.exposure_class[i]) / rows);
  }
}

}  // namespace vixen::learner
