// SPDX-License-Identifier: Apache-2.0
#include "kernels/collect/cuda_collector.h"

#include <nvtx3/nvtx3.hpp>

#include <algorithm>
#include <array>
#include <utility>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "kernels/collect/cuda_executor.h"
#include "kernels/collect/launch_start.h"
#include "kernels/cuda/pinned_pool.h"

namespace vixen::kernels {
namespace {

constexpr size_t kSlots = 2;

constexpr size_t RowBytes(ColumnId first, ColumnId end) {
  size_t bytes = 0;
  for (const ColumnSpec& column : kColumns) {
    if (column.id >= first && column.id < end) bytes += column.width * ElementBytes(column.type);
  }
  return bytes;
}
constexpr size_t kBytesBeforeTerms = RowBytes(ColumnId::kBar, ColumnId::kTerms);
constexpr size_t kBytesAfterTerms = RowBytes(ColumnId::kAction, ColumnId{kColumns.size()});
constexpr size_t kRowBytes = RowBytes(ColumnId::kBar, ColumnId{kColumns.size()});

// What a launch brings to the host beside its columns.
struct Summary {
  LaunchStatistics statistics;
  unsigned long long bad_row;
};

class CudaCollector final : public Collector {
 public:
  CudaCollector(const CollectorOptions& options, std::unique_ptr<CudaExecutor> executor)
      : options_(options),
        executor_(std::move(executor)),
        rows_(size_t{options.episodes} * options.steps),
        with_terms_(Batch::PayloadBytes(rows_, true)),
        without_terms_(Batch::PayloadBytes(rows_, false)) {}
  ~CudaCollector() override {
    SelectDevice();
    cudaDeviceSynchronize();
  }

  absl::Status Start() {
    VIXEN_RETURN_IF_ERROR(CreateStream(compute_));
    VIXEN_RETURN_IF_ERROR(CreateStream(copy_));
    for (Slot& slot : ring_) {
      VIXEN_RETURN_IF_ERROR(executor_->Allocate(slot.device, false));
      VIXEN_RETURN_IF_ERROR(executor_->Allocate(slot.staging));
      VIXEN_RETURN_IF_ERROR(slot.summary.Allocate(1));
      VIXEN_RETURN_IF_ERROR(slot.start_slots.Allocate(options_.episodes));
      VIXEN_RETURN_IF_ERROR(CreateEvent(slot.computed));
      VIXEN_RETURN_IF_ERROR(CreateEvent(slot.copied));
    }
    return with_terms_.Fill(kSlots + 1);
  }

  const CollectorInfo& info() const override { return executor_->info(); }

  absl::StatusOr<WeightsProbe> StageWeights(const Parameters& parameters) override {
    const nvtx3::scoped_range range("vixen stage weights");
    return executor_->Stage(parameters);
  }

  void CommitWeights(WeightsKind kind) override {
    const absl::Status status = executor_->Commit(kind, compute_.get());
    // What the next launch would read is unknown then.
    if (!status.ok()) failure_ = absl::DataLossError(status.message());
  }

  Batch MakeBatch(bool with_terms) override {
    SelectDevice();
    std::shared_ptr<std::byte[]> memory = (with_terms ? with_terms_ : without_terms_).Take();
    if (memory == nullptr) return Batch(options_.episodes, options_.steps, with_terms);
    return Batch(options_.episodes, options_.steps, with_terms, std::move(memory));
  }

  absl::Status CanLaunch() const override {
    VIXEN_RETURN_IF_ERROR(failure_);
    return executor_->CanLaunch();
  }

  absl::Status Launch(const LaunchRequest& request, Batch& batch) override {
    const nvtx3::scoped_range range("vixen launch");
    VIXEN_RETURN_IF_ERROR(CanLaunch());
    VIXEN_RETURN_IF_ERROR(CheckLaunch(options_, request, batch));
    Slot& slot = ring_[next_];
    if (slot.batch != nullptr) {
      return absl::FailedPreconditionError(
          base::StrCat(kSlots, " launches are in flight: wait for the oldest first"));
    }
    const bool with_q = !batch.q().empty();
    VIXEN_RETURN_IF_ERROR(Keep(executor_->Allocate(slot.device, with_q)));
    slot.device.with_terms = batch.with_terms();
    VIXEN_RETURN_IF_ERROR(
        Keep(executor_->Enqueue(request, slot.staging, slot.device, compute_.get())));
    VIXEN_RETURN_IF_ERROR(Keep(EnqueueCopies(slot, batch)));
    slot.batch = &batch;
    next_ = (next_ + 1) % kSlots;
    return absl::OkStatus();
  }

  absl::Status Wait(Batch& batch) override {
    const nvtx3::scoped_range range("vixen wait for rows");
    const auto slot =
        std::find_if(ring_.begin(), ring_.end(), [&](const Slot& s) { return s.batch == &batch; });
    if (slot == ring_.end()) {
      return absl::FailedPreconditionError("no launch that fills this batch is in flight");
    }
    slot->batch = nullptr;
    VIXEN_RETURN_IF_ERROR(
        Keep(CudaStatus(cudaEventSynchronize(slot->copied.get()), "cudaEventSynchronize")));
    TakeSummary(*slot, batch);
    return CheckRows(*slot, batch);
  }

  std::vector<SlotState> SlotStates() override {
    absl::StatusOr<std::vector<SlotState>> slots = executor_->ReadSlots(compute_.get());
    if (slots.ok()) return *std::move(slots);
    (void)Keep(slots.status());
    return {};
  }

 private:
  struct Slot {
    DeviceBatch device;
    LaunchStaging staging;
    PinnedBuffer<Summary> summary;
    PinnedBuffer<SlotState> start_slots;
    Event computed;
    Event copied;
    Batch* batch = nullptr;
  };

  // Of the calling thread, which may have another current one.
  void SelectDevice() const { cudaSetDevice(executor_->device().index); }

  // A lost device stays lost.
  absl::Status Keep(absl::Status status) {
    if (absl::IsDataLoss(status)) failure_ = status;
    return status;
  }

  // Straight into the batch: asynchronous when its memory is pinned.
  absl::Status EnqueueCopies(Slot& slot, Batch& batch) {
    VIXEN_CUDA_RETURN_IF_ERROR(cudaEventRecord(slot.computed.get(), compute_.get()));
    cudaStream_t copy = copy_.get();
    VIXEN_CUDA_RETURN_IF_ERROR(cudaStreamWaitEvent(copy, slot.computed.get()));
    const auto bring = [copy](void* to, const void* from, size_t bytes) {
      return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, copy);
    };
    const DeviceBatch& device = slot.device;
    // The device always has room for `terms`: a batch without them is copied in two pieces.
    const size_t before_terms = rows_ * kBytesBeforeTerms;
    const std::span<std::byte> terms = batch.MutableColumn(ColumnId::kTerms);
    const std::span<std::byte> action = batch.MutableColumn(ColumnId::kAction);
    VIXEN_CUDA_RETURN_IF_ERROR(bring(batch.MutableColumn(ColumnId::kBar).data(),
                                     device.columns.data(), before_terms + terms.size()));
    VIXEN_CUDA_RETURN_IF_ERROR(bring(action.data(),
                                     device.columns.data() + rows_ * (kRowBytes - kBytesAfterTerms),
                                     rows_ * kBytesAfterTerms));
    Summary* summary = slot.summary.data();
    VIXEN_CUDA_RETURN_IF_ERROR(
        bring(&summary->statistics, device.statistics.data(), sizeof(LaunchStatistics)));
    VIXEN_CUDA_RETURN_IF_ERROR(
        bring(&summary->bad_row, device.bad_row.data(), sizeof(summary->bad_row)));
    if (options_.settings.carry_over) {
      VIXEN_CUDA_RETURN_IF_ERROR(
          bring(slot.start_slots.data(), device.start_slots.data(), device.start_slots.bytes()));
    }
    if (!batch.q().empty()) {
      VIXEN_CUDA_RETURN_IF_ERROR(bring(batch.view().q, device.q.data(), device.q.bytes()));
    }
    VIXEN_CUDA_RETURN_IF_ERROR(cudaEventRecord(slot.copied.get(), copy));
    return absl::OkStatus();
  }

  void TakeSummary(const Slot& slot, Batch& batch) const {
    batch.statistics = slot.summary.data()->statistics;
    batch.start_states.clear();
    if (options_.settings.carry_over) {
      batch.start_states.assign(slot.start_slots.data(),
                                slot.start_slots.data() + options_.episodes);
    }
  }

  absl::Status CheckRows(const Slot& slot, Batch& batch) const {
    const unsigned long long row = slot.summary.data()->bad_row;
    if (row >= batch.rows()) return absl::OkStatus();
    const BatchView view = batch.view();
    return absl::InternalError(
        base::StrCat("slot ", row / batch.steps(), ", step ", row % batch.steps(), ", bar ",
                     view.bar[row], ": reward = ", view.reward[row], ", td = ", view.td[row],
                     " is not finite: the weights or prices overflow; push other weights"));
  }

  const CollectorOptions options_;
  std::unique_ptr<CudaExecutor> executor_;
  const size_t rows_;  // N·L
  PinnedPool with_terms_;
  PinnedPool without_terms_;
  Stream compute_;
  Stream copy_;
  std::array<Slot, kSlots> ring_;
  size_t next_ = 0;
  absl::Status failure_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Collector>> MakeCudaCollector(const CollectorOptions& options,
                                                             int device, CudaAlgorithm algorithm,
                                                             DeviceDatasets* datasets) {
  VIXEN_ASSIGN_OR_RETURN(std::unique_ptr<CudaExecutor> executor,
                         CudaExecutor::Create(options, device, algorithm, datasets));
  auto collector = std::make_unique<CudaCollector>(options, std::move(executor));
  VIXEN_RETURN_IF_ERROR(collector->Start());
  return collector;
}

}  // namespace vixen::kernels
