// SPDX-License-Identifier: Apache-2.0
#include "market/synth/bed_dataset.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/exit_code.h"
#include "base/str_cat.h"
#include "market/synth/bed_settings.h"
#include "market/synth/optimum.h"

namespace vixen::market {
namespace {

constexpr int64_t kFirstTimestamp = 1'704'067'200'000'000'000;  // 2024-01-01T00:00Z
constexpr int64_t kNanosecondsPerMinute = 60'000'000'000;
constexpr uint64_t kWalkStream = 0;
constexpr uint64_t kDistractorStream = 1;
constexpr uint64_t kMostBars = (uint64_t{1} << 31) - 1;
constexpr uint32_t kMostColumns = 253;

// Collects walks into the parts of a dataset.
class PartsBuilder {
 public:
  PartsBuilder(const BedTraits& traits, uint32_t distractors)
      : traits_(traits), distractors_(distractors) {
    parts_.feature_names = traits.signals;
    for (uint32_t i = 0; i < distractors; ++i)
      parts_.feature_names.push_back(base::StrCat("distractor_", i));
    parts_.scaler.mean.assign(parts_.feature_names.size(), 0);
    parts_.scaler.scale.assign(parts_.feature_names.size(), 1);
  }

  void Add(const BedPath& path, const Noise& distraction) {
    const size_t bars = path.level.size(), signals = traits_.signals.size();
    for (size_t t = 0; t < bars; ++t) {
      const auto row = path.signals.begin() + static_cast<std::ptrdiff_t>(t * signals);
      parts_.features.insert(parts_.features.end(), row,
                             row + static_cast<std::ptrdiff_t>(signals));
      for (uint32_t i = 0; i < distractors_; ++i) {
        parts_.features.push_back(static_cast<float>(distraction.Normal(t * distractors_ + i)));
      }
      const float close = PriceAt(path.level[t]);
      const float next = t + 1 < bars ? PriceAt(path.level[t + 1]) : close;
      parts_.targets.insert(parts_.targets.end(),
                            {close, next, std::max(close, next), std::min(close, next)});
      parts_.timestamp.push_back(kFirstTimestamp + static_cast<int64_t>(parts_.timestamp.size()) *
                                                       kNanosecondsPerMinute);
      parts_.last.push_back(t + 1 == bars ? 1 : 0);
    }
  }

  Dataset::Parts Take() { return std::move(parts_); }

 private:
  float PriceAt(double level) const {
    return static_cast<float>(100 * std::exp(traits_.price_scale * level));
  }

  const BedTraits& traits_;
  uint32_t distractors_;
  Dataset::Parts parts_;
};

absl::Status CheckSeries(const Bed& bed, const BedSeries& series) {
  if (series.bars < 2 || series.bars > kMostBars) {
    return base::UsageError(base::StrCat("--bars = ", series.bars, ": outside 2 … ", kMostBars));
  }
  const size_t most = kMostColumns - bed.traits().signals.size();
  if (series.distractors > most) {
    return base::UsageError(
        base::StrCat("--distractors = ", series.distractors, ": outside 0 … ", most));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Dataset>> MakeBedDataset(const Bed& bed,
                                                              const BedSeries& series) {
  if (absl::Status status = CheckSeries(bed, series); !status.ok()) return status;
  const BedTraits& traits = bed.traits();
  PartsBuilder builder(traits, series.distractors);
  for (uint64_t begin = 0, segment = 0; begin < series.bars; ++segment) {
    uint64_t count = std::min(kBedSegmentBars, series.bars - begin);
    // A remainder of one bar cannot be a segment.
    if (series.bars - begin == kBedSegmentBars + 1) ++count;
    const Noise noise = Noise(series.seed, segment);
    builder.Add(bed.Walk(noise.Stream(kWalkStream), count), noise.Stream(kDistractorStream));
    begin += count;
  }
  Dataset::Parts parts = builder.Take();
  parts.source = base::StrCat("synthetic market ", traits.name, ", seed ", series.seed);
  parts.extra_metadata = {
      {"bed", traits.name},
      {"bed_seed", base::StrCat(series.seed)},
      {"bed_cost", absl::StrFormat("%g", traits.cost)},
      {"bed_optimum", absl::StrFormat("%.5f", SolveOptimum(bed.Chain(), traits.cost).reward)},
      {"bed_environment", BedEnvironment(traits)}};
  return Dataset::Create(std::move(parts));
}

absl::StatusOr<BedEvaluation> MakeBedEvaluation(const Bed& bed, uint64_t first_seed,
                                                uint32_t episodes, uint32_t steps,
                                                uint32_t distractors) {
  BedEvaluation evaluation;
  PartsBuilder builder(bed.traits(), distractors);
  for (uint32_t i = 0; i < episodes; ++i) {
    const Noise noise(first_seed + i, 0);
    evaluation.paths.push_back(bed.Walk(noise.Stream(kWalkStream), size_t{steps} + 1));
    builder.Add(evaluation.paths.back(), noise.Stream(kDistractorStream));
  }
  Dataset::Parts parts = builder.Take();
  parts.source = base::StrCat("synthetic market ", bed.traits().name, ", seeds from ", first_seed);
  absl::StatusOr<std::shared_ptr<const Dataset>> dataset = Dataset::Create(std::move(parts));
  if (!dataset.ok()) return dataset.status();
  evaluation.dataset = *std::move(dataset);
  return evaluation;
}

}  // namespace vixen::market
