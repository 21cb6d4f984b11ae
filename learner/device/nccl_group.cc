// SPDX-License-Identifier: Apache-2.0
#include "learner/device/nccl_group.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kernels/cuda/buffer.h"
#include "kernels/cuda/status.h"
#include "kernels/cuda/stream.h"
#include "learner/device/nccl_library.h"

namespace vixen::learner {

NcclOffer OfferNccl(int gpu) {
  const absl::StatusOr<const NcclLibrary*> library = LoadNccl();
  if (!library.ok()) return {.obstacle = std::string(library.status().message())};
  cudaDeviceProp properties;
  const absl::Status status =
      kernels::CudaStatus(cudaGetDeviceProperties(&properties, gpu), "cudaGetDeviceProperties");
  if (!status.ok()) return {.obstacle = std::string(status.message())};
  const absl::string_view uuid(properties.uuid.bytes, sizeof properties.uuid.bytes);
  return {.gpu = absl::BytesToHexString(uuid), .version = (*library)->version};
}

absl::StatusOr<std::string> NewNcclId() {
  VIXEN_ASSIGN_OR_RETURN(const NcclLibrary* library, LoadNccl());
  ncclUniqueId id;
  VIXEN_RETURN_IF_ERROR(library->StatusOf(library->get_unique_id(&id), "ncclGetUniqueId"));
  return std::string(id.internal, sizeof id.internal);
}

struct NcclGroup::State {
  const NcclLibrary* library = nullptr;
  NcclPlace place;
  int gpu = 0;

  // Keeps what the library made, or gives it back where nobody waits for it any more.
  absl::Status Keep(ncclComm_t made);
  ncclComm_t Communicator();  // null before Keep and after Abort
  // Whether there was a communicator to be aborted, now or before.
  bool Abort();

  std::future<void> aborted;  // valid where Abort found one

 private:
  // Joining and giving up are on two threads.
  std::mutex mutex_;
  ncclComm_t communicator_ = nullptr;
  bool aborting_ = false;
};

absl::Status NcclGroup::State::Keep(ncclComm_t made) {
  {
    const std::lock_guard lock(mutex_);
    if (!aborting_) {
      communicator_ = made;
      return absl::OkStatus();
    }
  }
  library->comm_abort(made);
  return absl::UnavailableError("NCCL: aborted");
}

ncclComm_t NcclGroup::State::Communicator() {
  const std::lock_guard lock(mutex_);
  return communicator_;
}

bool NcclGroup::State::Abort() {
  const std::lock_guard lock(mutex_);
  aborting_ = true;
  ncclComm_t const going = std::exchange(communicator_, nullptr);
  if (going == nullptr) return aborted.valid();
  std::promise<void> promise;
  aborted = promise.get_future();
  std::thread([library = library, gpu = gpu, going, promise = std::move(promise)]() mutable {
    if (cudaSetDevice(gpu) == cudaSuccess) library->comm_abort(going);
    promise.set_value();
  }).detach();
  return true;
}

namespace {

// The first sum connects the GPUs, which a capture had better not do, and tells whether they reach
// each other.
absl::Status TrySum(const NcclGroup& group) {
  constexpr size_t kCount = 1024;
  kernels::Stream stream;
  kernels::PinnedBuffer<float> host;
  kernels::DeviceBuffer<float> device;
  VIXEN_RETURN_IF_ERROR(kernels::CreateStream(stream));
  VIXEN_RETURN_IF_ERROR(host.Allocate(kCount));
  VIXEN_RETURN_IF_ERROR(device.Allocate(kCount));
  std::fill_n(host.data(), kCount, 1.0f);
  VIXEN_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(device.data(), host.data(), host.bytes(),
                                             cudaMemcpyHostToDevice, stream.get()));
  VIXEN_RETURN_IF_ERROR(group.Sum(device.data(), device.data(), kCount, stream.get()));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(host.data(), device.data(), host.bytes(),
                                             cudaMemcpyDeviceToHost, stream.get()));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(stream.get()));
  const auto expected = static_cast<float>(group.place().size);
  for (size_t i = 0; i < kCount; ++i) {
    if (host.data()[i] == expected) continue;
    return absl::InternalError(
        absl::StrCat("NCCL: the sum of ", group.place().size, " ones is ", host.data()[i]));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<NcclGroup>> NcclGroup::Join(const NcclPlace& place, int gpu) {
  auto state = std::make_shared<State>();
  VIXEN_ASSIGN_OR_RETURN(state->library, LoadNccl());
  state->place = place;
  state->gpu = gpu;
  ncclUniqueId id;
  if (place.id.size() != sizeof id.internal) {
    return absl::InvalidArgumentError(
        absl::StrCat("an NCCL id has ", sizeof id.internal, " bytes, not ", place.id.size()));
  }
  std::memcpy(id.internal, place.id.data(), sizeof id.internal);
  VIXEN_CUDA_RETURN_IF_ERROR(cudaSetDevice(gpu));

  // On a thread of its own: it waits for the others without a limit.
  std::promise<absl::StatusOr<std::unique_ptr<NcclGroup>>> promise;
  std::future<absl::StatusOr<std::unique_ptr<NcclGroup>>> joined = promise.get_future();
  std::thread([state, id, promise = std::move(promise)]() mutable {
    const auto join = [&]() -> absl::StatusOr<std::unique_ptr<NcclGroup>> {
      VIXEN_CUDA_RETURN_IF_ERROR(cudaSetDevice(state->gpu));
      ncclComm_t made = nullptr;
      VIXEN_RETURN_IF_ERROR(state->library->StatusOf(
          state->library->comm_init_rank(&made, state->place.size, id, state->place.place),
          "ncclCommInitRank"));
      VIXEN_RETURN_IF_ERROR(state->Keep(made));
      std::unique_ptr<NcclGroup> group(new NcclGroup(state));
      VIXEN_RETURN_IF_ERROR(TrySum(*group));
      return group;
    };
    promise.set_value(join());
  }).detach();
  if (joined.wait_for(place.join_timeout) == std::future_status::ready) return joined.get();
  const std::string waited = absl::StrCat("place ", place.place, " of ", place.size, " waited ",
                                          place.join_timeout.count(), " ms for the others in NCCL");
  // Without a communicator nothing is on the GPU yet; else the first sum may wait there.
  if (!state->Abort() || joined.wait_for(kLongestEnd) == std::future_status::ready) {
    return absl::UnavailableError(waited);
  }
  return absl::DeadlineExceededError(
      absl::StrCat(waited, "; their first sum could not be ended on GPU ", gpu));
}

NcclGroup::NcclGroup(std::shared_ptr<State> state) : state_(std::move(state)) {}
NcclGroup::~NcclGroup() {
  // Not for ever: the process is to end even where the library does not.
  if (state_->Abort()) state_->aborted.wait_for(kLongestEnd);
}

const NcclPlace& NcclGroup::place() const { return state_->place; }

absl::Status NcclGroup::Sum(const float* from, float* to, size_t count, cudaStream_t stream) const {
  ncclComm_t const communicator = state_->Communicator();
  if (communicator == nullptr) return absl::UnavailableError("NCCL: aborted");
  return state_->library->StatusOf(
      state_->library->all_reduce(from, to, count, ncclFloat32, ncclSum, communicator, stream),
      "ncclAllReduce");
}

absl::Status NcclGroup::Check() const {
  ncclComm_t const communicator = state_->Communicator();
  if (communicator == nullptr) return absl::UnavailableError("NCCL: aborted");
  ncclResult_t error = ncclSuccess;
  VIXEN_RETURN_IF_ERROR(state_->library->StatusOf(
      state_->library->comm_get_async_error(communicator, &error), "ncclCommGetAsyncError"));
  return state_->library->StatusOf(error, "a sum");
}

void NcclGroup::Abort() { state_->Abort(); }

}  // namespace vixen::learner
