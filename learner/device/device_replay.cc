// SPDX-License-Identifier: Apache-2.0
#include "learner/device/device_replay.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace vixen::learner {
namespace {

uint64_t PaddedNodes(uint64_t nodes) {
  return (nodes + SumTreeView::kFanOut - 1) / SumTreeView::kFanOut * SumTreeView::kFanOut;
}

uint64_t InnerNodes(const SumTreeView& shape) {
  uint64_t nodes = 0;
  for (uint32_t l = 0; l < shape.level_count; ++l) nodes += PaddedNodes(shape.nodes[l]);
  return nodes;
}

}  // namespace

SumTreeView TreeShapeOf(uint64_t capacity) {
  SumTreeView shape;
  uint64_t nodes = capacity;
  do {
    nodes = (nodes + SumTreeView::kFanOut - 1) / SumTreeView::kFanOut;
    shape.nodes[shape.level_count++] = static_cast<uint32_t>(nodes);
  } while (nodes > SumTreeView::kFanOut);
  return shape;
}

uint64_t DeviceReplay::BytesOf(uint64_t capacity, uint64_t features) {
  return capacity * sizeof(ReplayRow) + PaddedNodes(capacity) * sizeof(float) +
         InnerNodes(TreeShapeOf(capacity)) * (sizeof(double) + 2 * sizeof(float)) +
         features * sizeof(float);
}

absl::Status DeviceReplay::Allocate(const ReplayOptions& options, std::span<const float> features,
                                    cudaStream_t stream) {
  options_ = options;
  SumTreeView& tree = view_.tree;
  tree = TreeShapeOf(options.capacity);
  const uint64_t inner = InnerNodes(tree);
  VIXEN_RETURN_IF_ERROR(rows_.Allocate(options.capacity));
  VIXEN_RETURN_IF_ERROR(features_.Allocate(features.size()));
  VIXEN_RETURN_IF_ERROR(leaves_.Allocate(PaddedNodes(options.capacity)));
  VIXEN_RETURN_IF_ERROR(sums_.Allocate(inner));
  VIXEN_RETURN_IF_ERROR(leasts_.Allocate(inner));
  VIXEN_RETURN_IF_ERROR(mosts_.Allocate(inner));
  VIXEN_RETURN_IF_ERROR(counts_.Allocate(1));
  VIXEN_RETURN_IF_ERROR(kernels::CreateEvent(copied_));
  for (Piece& piece : pieces_) {
    VIXEN_RETURN_IF_ERROR(piece.rows.Allocate(kPieceRows));
    VIXEN_RETURN_IF_ERROR(kernels::CreateEvent(piece.copied));
  }
  VIXEN_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(features_.data(), features.data(), features_.bytes(),
                                             cudaMemcpyHostToDevice, stream));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaMemsetAsync(rows_.data(), 0, rows_.bytes(), stream));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaMemsetAsync(leaves_.data(), 0, leaves_.bytes(), stream));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaMemsetAsync(sums_.data(), 0, sums_.bytes(), stream));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaMemsetAsync(mosts_.data(), 0, mosts_.bytes(), stream));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaMemsetAsync(counts_.data(), 0, counts_.bytes(), stream));
  // The padding of a level is read beside its nodes: an infinite least.
  const std::vector<float> nothing(inner, std::numeric_limits<float>::infinity());
  VIXEN_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(leasts_.data(), nothing.data(), leasts_.bytes(),
                                             cudaMemcpyHostToDevice, stream));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(stream));

  tree.leaves = leaves_.data();
  uint64_t at = 0;
  for (uint32_t l = 0; l < tree.level_count; ++l) {
    tree.levels[l] = {sums_.data() + at, leasts_.data() + at, mosts_.data() + at};
    at += PaddedNodes(tree.nodes[l]);
  }
  view_.rows = rows_.data();
  view_.features = features_.data();
  view_.counts = counts_.data();
  view_.settings = {.capacity = options.capacity,
                    .alpha = options.alpha,
                    .epsilon = options.epsilon,
                    .beta_start = options.beta_start,
                    .beta_end = options.beta_end,
                    .beta_updates = options.beta_updates,
                    .start_at_max = options.start_at_max};
  return absl::OkStatus();
}

absl::Status DeviceReplay::CopyRows(std::span<const ReplayRow> rows, uint64_t slot,
                                    cudaStream_t stream) {
  if (pinned_.Holds(rows.data(), rows.size_bytes())) {
    VIXEN_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(rows_.data() + slot, rows.data(), rows.size_bytes(),
                                               cudaMemcpyHostToDevice, stream));
    VIXEN_CUDA_RETURN_IF_ERROR(cudaEventRecord(copied_.get(), stream));
    return absl::OkStatus();
  }
  while (!rows.empty()) {
    Piece& piece = pieces_[next_piece_++ % pieces_.size()];
    const size_t count = std::min(rows.size(), kPieceRows);
    VIXEN_CUDA_RETURN_IF_ERROR(cudaEventSynchronize(piece.copied.get()));
    std::copy_n(rows.begin(), count, piece.rows.data());
    VIXEN_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(rows_.data() + slot, piece.rows.data(),
                                               count * sizeof(ReplayRow), cudaMemcpyHostToDevice,
                                               stream));
    VIXEN_CUDA_RETURN_IF_ERROR(cudaEventRecord(piece.copied.get(), stream));
    rows = rows.subspan(count);
    slot += count;
  }
  return absl::OkStatus();
}

absl::Status DeviceReplay::Insert(std::span<const ReplayRow> rows, cudaStream_t stream) {
  // A launch larger than the ring leaves its last rows.
  if (rows.size() > options_.capacity) {
    inserted_ += rows.size() - options_.capacity;
    rows = rows.last(options_.capacity);
  }
  while (!rows.empty()) {
    const uint64_t slot = inserted_ % options_.capacity;
    const size_t count = std::min<size_t>(rows.size(), options_.capacity - slot);
    VIXEN_RETURN_IF_ERROR(CopyRows(rows.first(count), slot, stream));
    VIXEN_CUDA_RETURN_IF_ERROR(LaunchInsert(view_, slot, count, size(), stream));
    inserted_ += count;
    rows = rows.subspan(count);
  }
  VIXEN_CUDA_RETURN_IF_ERROR(cudaEventSynchronize(copied_.get()));
  return absl::OkStatus();
}

absl::StatusOr<TreeCounts> DeviceReplay::Measure(cudaStream_t stream) const {
  TreeCounts counts;
  VIXEN_CUDA_RETURN_IF_ERROR(LaunchMeasure(view_, stream));
  VIXEN_CUDA_RETURN_IF_ERROR(
      cudaMemcpyAsync(&counts, counts_.data(), sizeof(counts), cudaMemcpyDeviceToHost, stream));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(stream));
  return counts;
}

absl::Status DeviceReplay::Save(ReplayCut& cut, cudaStream_t stream) const {
  std::vector<ReplayRow> rows(size());
  std::vector<float> leaves(size());
  VIXEN_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(
      rows.data(), rows_.data(), rows.size() * sizeof(ReplayRow), cudaMemcpyDeviceToHost, stream));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(leaves.data(), leaves_.data(),
                                             leaves.size() * sizeof(float), cudaMemcpyDeviceToHost,
                                             stream));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(stream));
  cut.rows.Assign(rows);
  if (cut.leaves.size() < leaves.size()) cut.leaves.resize(leaves.size());
  std::copy(leaves.begin(), leaves.end(), cut.leaves.begin());
  cut.inserted = inserted_;
  return absl::OkStatus();
}

absl::Status DeviceReplay::Restore(const ReplayCut& cut, cudaStream_t stream) {
  const uint64_t count = std::min(cut.inserted, options_.capacity);
  VIXEN_RETURN_IF_ERROR(CheckCut(cut, options_.capacity));
  std::vector<ReplayRow> rows(count);
  std::vector<float> leaves(count);
  for (size_t i = 0; i < count; ++i) {
    rows[i] = cut.rows.Row(i);
    leaves[i] = static_cast<float>(cut.leaves[i]);
  }
  VIXEN_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(rows_.data(), rows.data(), count * sizeof(ReplayRow),
                                             cudaMemcpyHostToDevice, stream));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(leaves_.data(), leaves.data(), count * sizeof(float),
                                             cudaMemcpyHostToDevice, stream));
  VIXEN_CUDA_RETURN_IF_ERROR(LaunchRebuild(view_, stream));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(stream));
  inserted_ = cut.inserted;
  return absl::OkStatus();
}

}  // namespace vixen::learner
