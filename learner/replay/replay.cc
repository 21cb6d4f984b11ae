// SPDX-License-Identifier: Apache-2.0
#include "learner/replay/replay.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace vixen::learner {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

Replay::Replay(ReplayOptions options)
    : options_(options), sums_(options.capacity), least_(options.capacity), random_(options.seed) {
  rows_.resize(options_.capacity);
  if (options_.start_at_max) most_.emplace(options_.capacity);
}

uint64_t Replay::BytesOf(uint64_t capacity, bool start_at_max) {
  const uint64_t trees = start_at_max ? 3 : 2;
  return capacity * sizeof(ReplayRow) + trees * 2 * sizeof(double) * std::bit_ceil(capacity);
}

double Replay::LeafOf(double td) {
  if (std::isnan(td)) {
    ++rejects_.nan;
  } else if (td == kInfinity) {
    ++rejects_.positive_infinity;
  } else if (td == -kInfinity) {
    ++rejects_.negative_infinity;
  } else if (td < 0.0) {
    ++rejects_.negative;
  } else {
    // In float32, as td is: half the time, and a priority needs no more.
    return options_.alpha == 0.0 ? 1.0
                                 : std::pow(static_cast<float>(td + options_.epsilon),
                                            static_cast<float>(options_.alpha));
  }
  return -1.0;
}

void Replay::Insert(std::span<const ReplayRow> rows) {
  // A launch larger than the ring leaves its last rows.
  if (rows.size() > options_.capacity) {
    inserted_ += rows.size() - options_.capacity;
    rows = rows.last(options_.capacity);
  }
  const double largest = most_.has_value() && most_->root() > 0.0 ? most_->root() : 1.0;
  while (!rows.empty()) {
    const size_t slot = inserted_ % options_.capacity;
    const size_t count = std::min<size_t>(rows.size(), options_.capacity - slot);
    std::copy_n(rows.begin(), count, rows_.begin() + static_cast<ptrdiff_t>(slot));

    leaves_.resize(count);
    for (size_t i = 0; i < count; ++i) {
      double leaf = LeafOf(rows[i].td);
      if (leaf < 0.0) leaf = total() > 0.0 ? total() / static_cast<double>(size()) : 1.0;
      leaves_[i] = most_.has_value() ? largest : leaf;
    }
    if (most_.has_value()) most_->SetRange(slot, leaves_);
    sums_.SetRange(slot, leaves_);
    for (double& leaf : leaves_) {
      if (leaf == 0.0) leaf = kInfinity;
    }
    least_.SetRange(slot, leaves_);

    inserted_ += count;
    rows = rows.subspan(count);
  }
}

void Replay::Save(ReplayCut& cut) const {
  cut.rows.Assign(std::span(rows_).first(size()));
  if (cut.leaves.size() < size()) cut.leaves.resize(size());
  const std::span<const double> leaves = sums_.leaves().first(size());
  std::copy(leaves.begin(), leaves.end(), cut.leaves.begin());
  cut.inserted = inserted_;
  cut.sampler = random_.state();
}

absl::Status CheckCut(const ReplayCut& cut, uint64_t capacity) {
  const uint64_t rows = std::min(cut.inserted, capacity);
  if (cut.rows.rows != rows || cut.leaves.size() < rows) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a replay of ", capacity, " rows after ", cut.inserted, " inserts holds ", rows,
        " rows, the cut has ", cut.rows.rows, " rows and ", cut.leaves.size(), " priorities"));
  }
  for (size_t i = 0; i < rows; ++i) {
    if (std::isfinite(cut.leaves[i]) && cut.leaves[i] >= 0.0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the priority of row ", i, " is ", cut.leaves[i]));
  }
  return absl::OkStatus();
}

absl::Status Replay::Restore(const ReplayCut& cut) {
  VIXEN_RETURN_IF_ERROR(CheckCut(cut, options_.capacity));
  const uint64_t rows = std::min(cut.inserted, options_.capacity);
  for (size_t i = 0; i < rows; ++i) rows_[i] = cut.rows.Row(i);
  leaves_.assign(cut.leaves.begin(), cut.leaves.begin() + static_cast<ptrdiff_t>(rows));
  sums_.SetRange(0, leaves_);
  if (most_.has_value()) most_->SetRange(0, leaves_);
  std::replace(leaves_.begin(), leaves_.end(), 0.0, kInfinity);
  least_.SetRange(0, leaves_);
  inserted_ = cut.inserted;
  random_ = SplitMix64(cut.sampler);
  return absl::OkStatus();
}

uint64_t Replay::CutBytesOf(uint64_t capacity) {
  return capacity * (sizeof(ReplayRow) + sizeof(double));
}

double Replay::BetaAt(const ReplayOptions& options, uint64_t updates) {
  const double part =
      std::min(1.0, static_cast<double>(updates) / static_cast<double>(options.beta_updates));
  return options.beta_start + part * (options.beta_end - options.beta_start);
}

double Replay::LeastShare() const {
  if (size() == 0) return 0.0;
  return sums_.root() > 0.0 ? least_.root() / sums_.root() : 1.0 / static_cast<double>(size());
}

void Replay::Draw(size_t count, double beta, Sample& sample, double least_share) {
  sample.slot.resize(count);
  sample.generation.resize(count);
  sample.weight.resize(count);
  const double total = sums_.root();
  const bool uniform = !(total > 0.0);
  const double least = least_share > 0.0 ? least_share * total : least_.root();
  mass_.resize(count);
  for (size_t j = 0; j < count; ++j) {
    mass_[j] = (static_cast<double>(j) + random_.Uniform()) / static_cast<double>(count);
  }
  if (uniform) {
    const auto rows = static_cast<double>(size());
    for (size_t j = 0; j < count; ++j) {
      sample.slot[j] =
          static_cast<uint32_t>(std::min(static_cast<uint64_t>(mass_[j] * rows), size() - 1));
      sample.weight[j] = 1.0f;
    }
  } else {
    for (double& mass : mass_) mass *= total;
    sums_.FindMany(mass_, sample.slot);
    for (size_t j = 0; j < count; ++j) {
      const double leaf = sums_.leaf(sample.slot[j]);
      // In float32, as the weight is: half the time.
      sample.weight[j] = leaf == least ? 1.0f
                                       : std::min(1.0f, std::pow(static_cast<float>(least / leaf),
                                                                 static_cast<float>(beta)));
    }
  }
  const uint64_t oldest = OldestGeneration();
  const uint64_t oldest_slot = oldest % options_.capacity;
  for (size_t j = 0; j < count; ++j) {
    const uint64_t slot = sample.slot[j];
    sample.generation[j] =
        oldest + slot - oldest_slot + (slot < oldest_slot ? options_.capacity : 0);
  }
}

PriorityUpdates Replay::Update(std::span<const uint32_t> slot, std::span<const uint64_t> generation,
                               std::span<const float> td) {
  PriorityUpdates counts;
  updated_.clear();
  leaves_.clear();
  const uint64_t oldest = OldestGeneration();
  const uint64_t oldest_slot = oldest % options_.capacity;
  for (size_t i = 0; i < slot.size(); ++i) {
    const uint64_t lives =
        oldest + slot[i] - oldest_slot + (slot[i] < oldest_slot ? options_.capacity : 0);
    if (slot[i] >= size() || generation[i] != lives) {
      ++counts.stale;
      continue;
    }
    const double leaf = LeafOf(td[i]);
    if (leaf < 0.0) continue;
    updated_.push_back(slot[i]);
    leaves_.push_back(leaf);
  }
  counts.applied = updated_.size();
  sums_.SetMany(updated_, leaves_, nodes_);
  if (most_.has_value()) most_->SetMany(updated_, leaves_, nodes_);
  std::replace(leaves_.begin(), leaves_.end(), 0.0, kInfinity);
  least_.SetMany(updated_, leaves_, nodes_);
  return counts;
}

}  // namespace vixen::learner
