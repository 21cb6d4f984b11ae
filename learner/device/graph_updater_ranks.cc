// SPDX-License-Identifier: Apache-2.0
// The graph updater as one of several ranks: gradients through NCCL in the graph, or through the
// host between two halves of an update; and what becomes of a launch in which a rank is lost.
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kernels/cuda/status.h"
#include "learner/device/graph_updater.h"

namespace vixen::learner {
namespace {

using Clock = std::chrono::steady_clock;

// CUDA's answer once `stream` is idle; cudaErrorNotReady at the deadline. `look` is called about
// every millisecond, and ends the wait where it says so.
template <typename Look>
cudaError_t WaitUntil(cudaStream_t stream, Clock::time_point deadline, Look&& look) {
  Clock::time_point next = Clock::now() + std::chrono::milliseconds(1);
  while (true) {
    const cudaError_t state = cudaStreamQuery(stream);
    if (state != cudaErrorNotReady) return state;
    std::this_thread::yield();
    const Clock::time_point now = Clock::now();
    if (now >= deadline) return state;
    if (now < next) continue;
    if (!look()) return state;
    next = now + std::chrono::milliseconds(1);
  }
}

}  // namespace

absl::StatusOr<uint64_t> GraphUpdater::JoinRanks(const NcclPlace& place) {
  VIXEN_RETURN_IF_ERROR(held_);
  EndGroup();
  SetExchange(Exchange::kBroken);
  size_t before = 0, after = 0, all = 0;
  VIXEN_CUDA_RETURN_IF_ERROR(cudaMemGetInfo(&before, &all));
  absl::StatusOr<std::unique_ptr<NcclGroup>> joined = NcclGroup::Join(place, device_.gpu);
  if (absl::IsDeadlineExceeded(joined.status())) held_ = joined.status();
  VIXEN_RETURN_IF_ERROR(joined.status());
  group_ = *std::move(joined);
  graphs_.ShareWith(group_.get());
  // The first sum of a size makes its connections, which is no work for a capture.
  const UpdateBuffers& buffers = memory_.of(0);
  VIXEN_RETURN_IF_ERROR(group_->Sum(buffers.gradient, buffers.partial,
                                    network_.parameters + kRankFigures, stream_.get()));
  VIXEN_RETURN_IF_ERROR(WaitForRanks(place.join_timeout));
  SetExchange(Exchange::kGpus);
  VIXEN_CUDA_RETURN_IF_ERROR(cudaMemGetInfo(&after, &all));
  return before > after ? before - after : 0;
}

absl::Status GraphUpdater::AverageThroughHost() {
  VIXEN_RETURN_IF_ERROR(held_);
  if (device_.average == nullptr) {
    return absl::FailedPreconditionError("there are no ranks to average with");
  }
  EndGroup();
  SetExchange(Exchange::kHost);
  return absl::OkStatus();
}

void GraphUpdater::EndGroup() {
  graphs_.ShareWith(nullptr);
  group_.reset();
}

absl::Status GraphUpdater::LaunchHalves() {
  const UpdateBuffers& buffers = memory_.of(0);
  VIXEN_RETURN_IF_ERROR(graphs_.LaunchFirstHalf(replay_.view(), buffers, stream_.get()));
  VIXEN_RETURN_IF_ERROR(AverageOverRanks());
  return graphs_.LaunchSecondHalf(replay_.view(), buffers, stream_.get());
}

absl::Status GraphUpdater::AverageOverRanks() {
  const UpdateBuffers& buffers = memory_.of(0);
  exchanged_.resize(network_.parameters + kRankFigures);
  VIXEN_RETURN_IF_ERROR(ToHost(exchanged_.data(), buffers.gradient, exchanged_.size()));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(stream_.get()));
  VIXEN_RETURN_IF_ERROR(device_.average(exchanged_));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(buffers.partial, exchanged_.data(),
                                             exchanged_.size() * sizeof(float),
                                             cudaMemcpyHostToDevice, stream_.get()));
  return absl::OkStatus();
}

absl::Status GraphUpdater::Wait() {
  VIXEN_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(stream_.get()));
  return absl::OkStatus();
}

absl::Status GraphUpdater::WaitForRanks(std::chrono::milliseconds longest) {
  absl::Status broken;
  const cudaError_t state = WaitUntil(stream_.get(), Clock::now() + longest, [&] {
    broken = group_->Check();
    return broken.ok();
  });
  if (!broken.ok()) return GiveUp(broken);
  if (state == cudaErrorNotReady) {
    return GiveUp(absl::UnavailableError(absl::StrCat(
        "the GPUs' sum stands still for ", longest.count(), " ms: another rank is lost")));
  }
  VIXEN_CUDA_RETURN_IF_ERROR(state);
  return absl::OkStatus();
}

absl::Status GraphUpdater::GiveUp(const absl::Status& error) {
  // First that nothing more is applied, as the sums may end with anything.
  SetExchange(Exchange::kBroken);
  group_->Abort();
  const cudaError_t ended =
      WaitUntil(stream_.get(), Clock::now() + kLongestEnd, [] { return true; });
  if (ended == cudaErrorNotReady) {
    held_ = absl::DeadlineExceededError(absl::StrCat(error.message(), "; what waits for it on GPU ",
                                                     device_.gpu, " could not be ended within ",
                                                     kLongestEnd.count(), " s"));
    return held_;
  }
  VIXEN_CUDA_RETURN_IF_ERROR(ended);
  EndGroup();
  return error;
}

}  // namespace vixen::learner
