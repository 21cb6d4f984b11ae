// SPDX-License-Identifier: Apache-2.0
#include "learner/device/graph_updater.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/status.h"
#include "learner/device/device_memory.h"
#include "learner/device/shared_memory.h"

namespace vixen::learner {
namespace {

using kernels::WeightsKind;

constexpr uint64_t kGamma = 0x9E3779B97F4A7C15ULL;  // SplitMix64's step

absl::Status CheckSize(const kernels::Parameters& parameters,
                       const kernels::Architecture& architecture) {
  const size_t expected = kernels::ParameterCount(architecture, WeightsKind::kOnline);
  if (parameters.values.size() == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("%s weights hold %d numbers, architecture %s needs %d",
                      kernels::WeightsKindName(parameters.kind), parameters.values.size(),
                      architecture.Describe(), expected));
}

UpdateSettings SettingsOf(const TrainerOptions& options) {
  UpdateSettings settings;
  settings.batch = options.batch_size;
  settings.rows = PaddedRows(options.batch_size);
  for (const uint8_t action : options.actions) settings.actions |= uint64_t{1} << action;
  settings.action_count = static_cast<uint32_t>(options.actions.size());
  settings.huber_delta = options.huber_delta;
  settings.double_dqn = options.double_dqn;
  settings.learning_rate = options.learning_rate;
  settings.adam_epsilon = options.adam_epsilon;
  settings.weight_decay = options.weight_decay;
  settings.max_gradient_norm = options.max_gradient_norm;
  settings.polyak_tau = options.polyak_tau;
  settings.target_period = options.target_period;
  settings.frozen_target = options.frozen_target;
  settings.ascent = options.ascent;
  return settings;
}

}  // namespace

GraphUpdater::GraphUpdater(const DeviceUpdaterOptions& device, const TrainerOptions& trainer)
    : device_(device),
      trainer_(trainer),
      network_(DeviceNetworkOf(trainer.architecture)),
      settings_(SettingsOf(trainer)),
      minibatch_(trainer.batch_size, trainer.architecture.state()) {}

absl::Status GraphUpdater::Start(const ReplayOptions& replay, std::span<const float> features,
                                 const kernels::Parameters& online,
                                 const kernels::Parameters& target) {
  VIXEN_RETURN_IF_ERROR(CheckSize(online, trainer_.architecture));
  VIXEN_RETURN_IF_ERROR(CheckSize(target, trainer_.architecture));
  VIXEN_ASSIGN_OR_RETURN(const kernels::CudaDevice gpu, kernels::QueryCudaDevice(device_.gpu));
  if (device_.precision != DevicePrecision::kFp32 && gpu.capability() < 80) {
    return absl::FailedPreconditionError(absl::StrCat("tf32 and bf16 need compute capability 8.0, ",
                                                      gpu.Describe(),
                                                      " has less; take precision fp32"));
  }
  VIXEN_RETURN_IF_ERROR(
      CheckSharedMemory(network_, device_.precision, gpu.shared_bytes_per_block,
                        absl::StrCat("gpu ", device_.gpu, " (", gpu.Describe(), ")")));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaSetDevice(device_.gpu));
  VIXEN_RETURN_IF_ERROR(kernels::CreateStream(stream_));
  size_t free = 0, all = 0;
  VIXEN_CUDA_RETURN_IF_ERROR(cudaMemGetInfo(&free, &all));
  const uint64_t kept = device_.joins_ranks ? kNcclBytes : 0;
  bytes_ = DeviceReplay::BytesOf(replay.capacity, features.size());
  VIXEN_RETURN_IF_ERROR(CheckDeviceMemory(
      {.capacity = replay.capacity,
       .replay = bytes_,
       .minibatches = TrainerMemory::BytesOfRows(network_, device_.precision, settings_.rows),
       .nccl = kept},
      {.gpu = device_.gpu, .free = free, .all = all}));
  shape_ = ChoosePassShape(network_, device_.precision, settings_.rows,
                           {.capability = gpu.capability(),
                            .multiprocessors = gpu.multiprocessors,
                            .shared_bytes = gpu.shared_bytes_per_block},
                           device_.algorithm);
  VIXEN_RETURN_IF_ERROR(replay_.Allocate(replay, features, stream_.get()));
  VIXEN_RETURN_IF_ERROR(memory_.Allocate(network_, shape_, settings_, device_.updates_a_graph));
  VIXEN_RETURN_IF_ERROR(last_rows_.Allocate(settings_.batch));
  VIXEN_RETURN_IF_ERROR(told_.statistics.Allocate(device_.updates_a_graph));
  VIXEN_RETURN_IF_ERROR(told_.control.Allocate(1));
  VIXEN_RETURN_IF_ERROR(told_.counts.Allocate(1));
  VIXEN_RETURN_IF_ERROR(told_.slot.Allocate(settings_.batch));
  VIXEN_RETURN_IF_ERROR(told_.generation.Allocate(settings_.batch));
  VIXEN_RETURN_IF_ERROR(told_.weight.Allocate(settings_.batch));
  VIXEN_RETURN_IF_ERROR(told_.abs_td.Allocate(settings_.batch));
  VIXEN_RETURN_IF_ERROR(told_.taken_q.Allocate(settings_.batch));
  VIXEN_CUDA_RETURN_IF_ERROR(PreparePasses(network_, shape_));
  if (device_.curiosity.has_value()) {
    curiosity_ = std::make_unique<DeviceCuriosity>();
    VIXEN_RETURN_IF_ERROR(
        curiosity_->Start(trainer_.architecture, *device_.curiosity, stream_.get()));
  }
  graphs_ = UpdateGraphs(network_, shape_, settings_,
                         curiosity_ == nullptr ? CuriosityView() : curiosity_->view());
  VIXEN_RETURN_IF_ERROR(graphs_.Create());
  SetExchange(device_.average == nullptr ? Exchange::kAlone : Exchange::kHost);
  sampler_ = replay.seed;
  features_ = features;
  sample_.slot.resize(settings_.batch);
  sample_.generation.resize(settings_.batch);
  sample_.weight.resize(settings_.batch);
  rows_.resize(settings_.batch);

  const UpdateBuffers& buffers = memory_.of(0);
  VIXEN_RETURN_IF_ERROR(memory_.Upload(network_, online, buffers.online, stream_.get()));
  VIXEN_RETURN_IF_ERROR(memory_.Upload(network_, target, buffers.target, stream_.get()));
  VIXEN_CUDA_RETURN_IF_ERROR(LaunchImages(network_, shape_, buffers, stream_.get()));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(stream_.get()));
  return absl::OkStatus();
}

absl::StatusOr<double> GraphUpdater::LeastShare() {
  VIXEN_RETURN_IF_ERROR(held_);
  if (size() == 0) return 0.0;
  VIXEN_ASSIGN_OR_RETURN(const TreeCounts counts, replay_.Measure(stream_.get()));
  return counts.total > 0.0 ? counts.least / counts.total : 1.0 / static_cast<double>(size());
}

absl::Status GraphUpdater::SetControl(double least_share) {
  *told_.control.data() = {.updates = updates_,
                           .steps = steps_,
                           .sampler = sampler_,
                           .inserted = replay_.inserted(),
                           .size = replay_.size(),
                           .least_share = least_share,
                           .curiosity_steps = curiosity_ == nullptr ? 0 : curiosity_->steps(),
                           .spoiled = spoiled_};
  VIXEN_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(memory_.of(0).control, told_.control.data(),
                                             sizeof(UpdateControl), cudaMemcpyHostToDevice,
                                             stream_.get()));
  return absl::OkStatus();
}

absl::Status GraphUpdater::Tell(uint64_t updates) {
  const UpdateBuffers& buffers = memory_.of(updates - 1);
  VIXEN_RETURN_IF_ERROR(ToHost(told_.statistics.data(), buffers.statistics, updates));
  VIXEN_RETURN_IF_ERROR(ToHost(told_.control.data(), buffers.control, 1));
  VIXEN_RETURN_IF_ERROR(ToHost(told_.counts.data(), replay_.view().counts, 1));
  VIXEN_RETURN_IF_ERROR(ToHost(told_.slot.data(), buffers.slot, settings_.batch));
  VIXEN_RETURN_IF_ERROR(ToHost(told_.generation.data(), buffers.generation, settings_.batch));
  VIXEN_RETURN_IF_ERROR(ToHost(told_.weight.data(), buffers.weight, settings_.batch));
  VIXEN_RETURN_IF_ERROR(ToHost(told_.abs_td.data(), buffers.abs_td, settings_.batch));
  return ToHost(told_.taken_q.data(), buffers.taken_q, settings_.batch);
}

absl::StatusOr<UpdatesMade> GraphUpdater::Update(uint64_t most, double least_share) {
  VIXEN_RETURN_IF_ERROR(held_);
  if (exchange_ == Exchange::kBroken) {
    return absl::FailedPreconditionError(
        "the exchange with the other ranks is broken: it must begin anew before the next update");
  }
  // Powers of two: few graphs.
  const uint64_t updates = std::bit_floor(std::clamp<uint64_t>(most, 1, updates_at_once()));
  VIXEN_RETURN_IF_ERROR(SetControl(least_share));
  if (exchange_ == Exchange::kHost) {
    const absl::Status launched = LaunchHalves();
    if (absl::IsUnavailable(launched)) SetExchange(Exchange::kBroken);
    VIXEN_RETURN_IF_ERROR(launched);
  } else {
    VIXEN_RETURN_IF_ERROR(graphs_.Launch(updates, replay_.view(), memory_, stream_.get()));
  }
  VIXEN_RETURN_IF_ERROR(Tell(updates));
  const absl::Status waited =
      exchange_ == Exchange::kGpus ? WaitForRanks(group_->place().timeout) : Wait();
  if (!waited.ok()) {
    if (absl::IsUnavailable(waited)) Count(updates);
    return waited;
  }
  return Made(updates);
}

absl::Status GraphUpdater::CountCuriosity(uint64_t asked, UpdatesMade& made) {
  const uint64_t period = device_.curiosity->period;
  const uint32_t failed = told_.control.data()->curiosity_failed;
  for (uint64_t i = 0; i < asked; ++i) {
    if ((updates_ - asked + i + 1) % period != 0) continue;
    const double loss = told_.statistics.data()[i].curiosity_loss;
    if (i + 1 == failed) {
      return absl::DataLossError(
          absl::StrFormat("curiosity loss %g at update %d is not finite, or its gradient is not",
                          WithoutSign(loss), updates_ - asked + failed));
    }
    made.curiosity_loss += loss;
    ++made.curiosity_updates;
    curiosity_->Trained(1);
  }
  return absl::OkStatus();
}

uint32_t GraphUpdater::Count(uint64_t asked) {
  const uint32_t failed = told_.control.data()->failed;
  const uint64_t whole = failed == 0 ? asked : failed - 1;
  updates_ += whole;
  steps_ += whole;
  sampler_ += (failed == 0 ? asked : failed) * settings_.batch * kGamma;
  last_index_ = failed == 0 ? asked - 1 : failed - 1;
  return failed;
}

absl::Status GraphUpdater::FailureOf(uint32_t failed) const {
  const DeviceStatistics& s = told_.statistics.data()[failed - 1];
  const bool ranks = device_.average != nullptr;
  if (ranks && !std::isfinite(s.loss)) {
    const bool ours = !std::isfinite(s.own_loss);
    return absl::DataLossError(absl::StrFormat(
        "%s loss at update %d is not finite; the last good weights stay",
        ours ? absl::StrFormat("this rank's, %g:", WithoutSign(s.own_loss)) : "another rank's",
        updates_ + 1));
  }
  const bool loss = !std::isfinite(s.loss);
  return absl::DataLossError(absl::StrFormat(
      "%s %g at update %d is not finite; the last good weights stay",
      loss ? "loss" : "gradient norm", WithoutSign(loss ? s.loss : s.gradient_norm), updates_ + 1));
}

absl::StatusOr<UpdatesMade> GraphUpdater::Made(uint64_t asked) {
  const uint32_t failed = Count(asked);
  if (failed != 0) return FailureOf(failed);
  UpdatesMade made;
  statistics_.resize(asked);
  const auto rows = static_cast<double>(settings_.batch);
  for (uint64_t i = 0; i < asked; ++i) {
    const DeviceStatistics& s = told_.statistics.data()[i];
    statistics_[i] = {.loss = s.loss,
                      .mean_abs_td = s.mean_abs_td,
                      .mean_q = s.mean_q,
                      .max_q = s.max_q,
                      .gradient_norm = s.gradient_norm,
                      .clipped_rows = s.clipped_rows};
    if (s.weight_squares > 0) {
      made.effective_samples += s.weight_sum * s.weight_sum / (rows * s.weight_squares);
    }
  }
  const TreeCounts& counts = *told_.counts.data();
  rejects_ = {.nan = counts.nan,
              .positive_infinity = counts.positive_infinity,
              .negative_infinity = counts.negative_infinity,
              .negative = counts.negative};
  made.priorities.stale = counts.stale - std::exchange(stale_seen_, counts.stale);
  made.priorities.applied = asked * settings_.batch - made.priorities.stale;
  std::copy_n(told_.slot.data(), settings_.batch, sample_.slot.begin());
  std::copy_n(told_.generation.data(), settings_.batch, sample_.generation.begin());
  std::copy_n(told_.weight.data(), settings_.batch, sample_.weight.begin());
  if (curiosity_ != nullptr) VIXEN_RETURN_IF_ERROR(CountCuriosity(asked, made));
  made.statistics = statistics_;
  made.sample = &sample_;
  made.abs_td = {told_.abs_td.data(), settings_.batch};
  made.taken_q = {told_.taken_q.data(), settings_.batch};
  return made;
}

}  // namespace vixen::learner
