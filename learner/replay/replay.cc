// SPDX-License-Identifier: Apache-2.0
#include "learner/replay/replay.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "learner/replay/power.h"

namespace vixen::learner {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kMost = std::numeric_limits<float>::max();

bool IsPriority(double value) { return value >= 0.0 && value <= kMost; }

}  // namespace

Replay::Replay(ReplayOptions options)
    : options_(options), tree_(options.capacity, options.start_at_max), random_(options.seed) {
  rows_.resize(options_.capacity);
}

uint64_t Replay::BytesOf(uint64_t capacity, bool start_at_max) {
  return capacity * sizeof(Slot) + PriorityTree::BytesOf(capacity, start_at_max);
}

void Replay::ComputeLeaves(std::span<const float> td) {
  leaves_.resize(td.size());
  const auto whole = static_cast<size_t>(std::count_if(td.begin(), td.end(), IsPriority));
  if (options_.alpha == 0.0) {
    std::fill(leaves_.begin(), leaves_.end(), 1.0f);
  } else {
    // In float32, as td is: a priority needs no more.
    for (size_t i = 0; i < td.size(); ++i) {
      leaves_[i] = static_cast<float>((IsPriority(td[i]) ? td[i] : 0.0) + options_.epsilon);
    }
    PowerInPlace(leaves_, static_cast<float>(options_.alpha));
  }
  if (whole == td.size()) return;
  for (size_t i = 0; i < td.size(); ++i) {
    if (IsPriority(td[i])) continue;
    leaves_[i] = -1.0f;
    ++(std::isnan(td[i])     ? rejects_.nan
       : td[i] == kInfinity  ? rejects_.positive_infinity
       : td[i] == -kInfinity ? rejects_.negative_infinity
                             : rejects_.negative);
  }
}

void Replay::Insert(std::span<const ReplayRow> rows) {
  // A launch larger than the ring leaves its last rows.
  if (rows.size() > options_.capacity) {
    inserted_ += rows.size() - options_.capacity;
    rows = rows.last(options_.capacity);
  }
  const float largest = tree_.most() > 0.0f ? tree_.most() : 1.0f;
  while (!rows.empty()) {
    const size_t slot = inserted_ % options_.capacity;
    const size_t count = std::min<size_t>(rows.size(), options_.capacity - slot);
    td_.resize(count);
    for (size_t i = 0; i < count; ++i) {
      rows_[slot + i].row = rows[i];
      td_[i] = rows[i].td;
    }
    ComputeLeaves(td_);
    const float mean =
        total() > 0.0 ? static_cast<float>(total() / static_cast<double>(size())) : 1.0f;
    for (float& leaf : leaves_) {
      if (options_.start_at_max) {
        leaf = largest;
      } else if (leaf < 0.0f) {
        leaf = mean;
      }
    }
    tree_.SetRange(slot, leaves_);
    inserted_ += count;
    rows = rows.subspan(count);
  }
}

void Replay::Save(ReplayCut& cut) const {
  cut.rows.Assign(size(), [&](size_t i) -> const ReplayRow& { return rows_[i].row; });
  if (cut.leaves.size() < size()) cut.leaves.resize(size());
  const std::span<const float> leaves = tree_.leaves().first(size());
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
    if (IsPriority(cut.leaves[i])) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the priority of row ", i, " is ", cut.leaves[i]));
  }
  return absl::OkStatus();
}

absl::Status Replay::Restore(const ReplayCut& cut) {
  VIXEN_RETURN_IF_ERROR(CheckCut(cut, options_.capacity));
  const uint64_t rows = std::min(cut.inserted, options_.capacity);
  leaves_.resize(rows);
  for (size_t i = 0; i < rows; ++i) {
    rows_[i].row = cut.rows.Row(i);
    leaves_[i] = static_cast<float>(cut.leaves[i]);
  }
  tree_.SetRange(0, leaves_);
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
  return total() > 0.0 ? tree_.least() / total() : 1.0 / static_cast<double>(size());
}

void Replay::Draw(size_t count, double beta, Sample& sample, double least_share) {
  sample.slot.resize(count);
  sample.generation.resize(count);
  sample.weight.resize(count);
  mass_.resize(count);
  for (size_t j = 0; j < count; ++j) {
    mass_[j] = (static_cast<double>(j) + random_.Uniform()) / static_cast<double>(count);
  }
  if (!(total() > 0.0)) {
    const auto rows = static_cast<double>(size());
    for (size_t j = 0; j < count; ++j) {
      sample.slot[j] =
          static_cast<uint32_t>(std::min(static_cast<uint64_t>(mass_[j] * rows), size() - 1));
      sample.weight[j] = 1.0f;
    }
  } else {
    for (double& mass : mass_) mass *= total();
    tree_.FindMany(mass_, sample.slot);
    // Who draws a row reads it soon.
    for (const uint32_t slot : sample.slot) __builtin_prefetch(&rows_[slot]);
    if (beta == 0.0) {
      // Not by a power: a share below float32's range is 0, and PowerInPlace leaves 0 as it is.
      std::fill(sample.weight.begin(), sample.weight.end(), 1.0f);
    } else {
      WeighDrawn(beta, least_share, sample);
    }
  }
  const Generations now = generations();
  for (size_t j = 0; j < count; ++j) sample.generation[j] = now.Of(sample.slot[j]);
}

void Replay::WeighDrawn(double beta, double least_share, Sample& sample) const {
  const double least = least_share > 0.0 ? least_share * total() : double{tree_.least()};
  for (size_t j = 0; j < sample.slot.size(); ++j) {
    sample.weight[j] = static_cast<float>(least / tree_.leaf(sample.slot[j]));
  }
  PowerInPlace(sample.weight, static_cast<float>(beta));
  for (float& weight : sample.weight) weight = std::min(weight, 1.0f);
}

PriorityUpdates Replay::Update(std::span<const uint32_t> slot, std::span<const uint64_t> generation,
                               std::span<const float> td) {
  PriorityUpdates counts;
  updated_.clear();
  td_.clear();
  const Generations now = generations();
  const uint64_t rows = size();
  for (size_t i = 0; i < slot.size(); ++i) {
    if (slot[i] >= rows || generation[i] != now.Of(slot[i])) {
      ++counts.stale;
      continue;
    }
    updated_.push_back(slot[i]);
    td_.push_back(td[i]);
  }
  ComputeLeaves(td_);
  size_t kept = 0;
  for (size_t i = 0; i < leaves_.size(); ++i) {
    updated_[kept] = updated_[i];
    leaves_[kept] = leaves_[i];
    kept += leaves_[i] >= 0.0f ? 1 : 0;
  }
  counts.applied = kept;
  tree_.SetMany(std::span(updated_).first(kept), std::span(leaves_).first(kept));
  return counts;
}

}  // namespace vixen::learner
