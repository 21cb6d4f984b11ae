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

// How long sums that were told to end may take to end.
constexpr std::chrono::seconds kLongestEnd{10};

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

absl::Status GraphUpdater::JoinRanks(const NcclPlace& place) {
  graphs_.ShareWith(nullptr);
  group_.reset();
  memory_.SetLost(false);
  VIXEN_ASSIGN_OR_RETURN(group_, NcclGroup::Join(place, device_.gpu));
  graphs_.ShareWith(group_.get());
  // The first sum of a size makes its connections, which is no work for a capture.
  const UpdateBuffers& buffers = memory_.of(0);
  VIXEN_RETURN_IF_ERROR(group_->Sum(buffers.gradient, buffers.partial,
                                    network_.parameters + kRankFigures, stream_.get()));
  return Wait();
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
  if (group_ == nullptr) {
    VIXEN_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(stream_.get()));
    return absl::OkStatus();
  }
  absl::Status broken;
  const cudaError_t state = WaitUntil(stream_.get(), Clock::now() + group_->place().timeout, [&] {
    broken = group_->Check();
    return broken.ok();
  });
  if (!broken.ok()) return GiveUp(broken);
  if (state == cudaErrorNotReady) {
    return GiveUp(absl::UnavailableError(absl::StrCat("the GPUs' sum stands still for ",
                                                      group_->place().timeout.count(),
                                                      " ms: another rank is lost")));
  }
  VIXEN_CUDA_RETURN_IF_ERROR(state);
  return absl::OkStatus();
}

absl::Status GraphUpdater::GiveUp(const absl::Status& error) {
  // First that nothing more is applied, as the sums may end with anything.
  memory_.SetLost(true);
  group_->Abort();
  VIXEN_CUDA_RETURN_IF_ERROR(
      WaitUntil(stream_.get(), Clock::now() + kLongestEnd, [] { return true; }));
  graphs_.ShareWith(nullptr);
  group_.reset();
  return error;
}

}  // namespace vixen::learner
