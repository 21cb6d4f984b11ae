// SPDX-License-Identifier: Apache-2.0
// The rules of docs/environment.md, "Dataset" and "Bad input". Errors name row, column and value.
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "market/dataset.h"
#include "market/dataset_format.h"
#include "market/format.h"

namespace vixen::market {
namespace {

constexpr uint64_t kMostBars = (uint64_t{1} << 31) - 1;
constexpr size_t kMostFeatures = 253;
constexpr const char* kTargetNames[4] = {"close", "next_close", "next_high", "next_low"};

absl::Status CheckSize(const char* what, size_t size, uint64_t expected) {
  if (size == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " holds ", size, " values where the number of bars asks for ", expected));
}

absl::Status CheckScaler(const Scaler& scaler, const std::vector<std::string>& names) {
  VIXEN_RETURN_IF_ERROR(CheckSize("feature_mean", scaler.mean.size(), names.size()));
  VIXEN_RETURN_IF_ERROR(CheckSize("feature_scale", scaler.scale.size(), names.size()));
  for (size_t i = 0; i < names.size(); ++i) {
    if (!std::isfinite(scaler.mean[i])) {
      return absl::InvalidArgumentError(
          absl::StrCat("feature_mean of ", names[i], " = ", FormatValue(scaler.mean[i])));
    }
    if (!std::isfinite(scaler.scale[i]) || scaler.scale[i] <= 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "feature_scale of ", names[i], " = ", FormatValue(scaler.scale[i]), " is not above 0"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckFeatures(std::span<const float> features, const std::vector<std::string>& names) {
  for (size_t i = 0; i < features.size(); ++i) {
    if (!std::isfinite(features[i])) {
      return absl::InvalidArgumentError(absl::StrCat(
          "row ", i / names.size(), " ", names[i % names.size()], " = ", FormatValue(features[i])));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckPositive(std::span<const float> targets) {
  for (size_t i = 0; i < targets.size(); ++i) {
    if (!std::isfinite(targets[i]) || targets[i] <= 0) {
      return absl::InvalidArgumentError(absl::StrCat("row ", i / 4, " ", kTargetNames[i % 4], " = ",
                                                     FormatValue(targets[i]),
                                                     ": targets are finite and above 0"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSegments(std::span<const uint8_t> last, std::span<const int64_t> timestamp) {
  for (size_t row = 0; row < last.size(); ++row) {
    if (last[row] > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("row ", row, " last = ", last[row], ": must be 0 or 1"));
    }
    const bool first = row == 0 || last[row - 1] == 1;
    if (first && last[row] == 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("row ", row, " last = 1: a segment of one bar; at least 2 are needed"));
    }
    if (!first && timestamp[row] <= timestamp[row - 1]) {
      return absl::InvalidArgumentError(absl::StrCat(
          "row ", row, " timestamp = ", FormatUtc(timestamp[row]), " is not after row ", row - 1,
          " of the same segment (", FormatUtc(timestamp[row - 1]), ")"));
    }
  }
  if (last.back() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("row ", last.size() - 1, " last = 0: the final bar must end its segment"));
  }
  return absl::OkStatus();
}

absl::Status CheckNextBar(std::span<const float> targets, std::span<const uint8_t> last) {
  for (size_t row = 0; row < last.size(); ++row) {
    if (last[row] == 1) continue;
    const float* target = &targets[row * 4];
    const float next_close = target[1], next_high = target[2], next_low = target[3];
    const float following = targets[(row + 1) * 4];
    if (next_close != following) {
      return absl::InvalidArgumentError(
          absl::StrCat("row ", row, " next_close = ", FormatValue(next_close), " but row ", row + 1,
                       " close = ", FormatValue(following)));
    }
    if (next_low > next_close || next_close > next_high) {
      return absl::InvalidArgumentError(absl::StrCat(
          "row ", row, " next_close = ", FormatValue(next_close), " lies outside next_low ",
          FormatValue(next_low), " to next_high ", FormatValue(next_high)));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckFeatureNames(const std::vector<std::string>& names) {
  if (names.empty() || names.size() > kMostFeatures) {
    return absl::InvalidArgumentError(
        absl::StrCat("a dataset of ", names.size(), " features: allowed are 1 to ", kMostFeatures));
  }
  std::set<std::string> seen;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty() || names[i].find('\n') != std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("feature ", i, " has an empty name or one with a line break"));
    }
    if (!seen.insert(names[i]).second) {
      return absl::InvalidArgumentError(absl::StrCat("feature name `", names[i], "` occurs twice"));
    }
  }
  return absl::OkStatus();
}

absl::Status Dataset::Check() const {
  VIXEN_RETURN_IF_ERROR(CheckFeatureNames(feature_names_));
  if (bars() < 2 || bars() > kMostBars) {
    return absl::InvalidArgumentError(
        absl::StrCat("a dataset of ", bars(), " bars: allowed are 2 to ", kMostBars));
  }
  VIXEN_RETURN_IF_ERROR(CheckSize("features", features_.size(), bars() * feature_count()));
  VIXEN_RETURN_IF_ERROR(CheckSize("targets", targets_.size(), bars() * 4));
  VIXEN_RETURN_IF_ERROR(CheckSize("timestamp", timestamp_.size(), bars()));
  VIXEN_RETURN_IF_ERROR(CheckScaler(scaler_, feature_names_));
  VIXEN_RETURN_IF_ERROR(CheckFeatures(features_, feature_names_));
  VIXEN_RETURN_IF_ERROR(CheckPositive(targets_));
  VIXEN_RETURN_IF_ERROR(CheckSegments(last_, timestamp_));
  VIXEN_RETURN_IF_ERROR(CheckNextBar(targets_, last_));
  if (train_rows_ && (*train_rows_ < 2 || *train_rows_ > bars() || last_[*train_rows_ - 1] != 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("train_rows = ", *train_rows_, " of ", bars(),
                     " rows: the training rows must end with the last bar of a segment"));
  }
  return absl::OkStatus();
}

absl::StatusOr<BarRange> Dataset::EffectiveRange(uint64_t begin, uint64_t end) const {
  BarRange range{begin, end == 0 ? bars() : end};
  if (range.end > bars()) {
    return absl::OutOfRangeError(
        absl::StrCat("end = ", range.end, " is beyond the dataset's ", bars(), " bars"));
  }
  if (range.begin >= range.end) {
    return absl::InvalidArgumentError(
        absl::StrCat("begin = ", range.begin, " is not below end = ", range.end));
  }
  while (range.begin < range.end && last_[range.begin] == 1) ++range.begin;
  const auto first_of_segment = [this](uint64_t bar) { return bar == 0 || last_[bar - 1] == 1; };
  while (range.end > range.begin && first_of_segment(range.end - 1)) --range.end;
  if (range.end < range.begin + 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("bars ", begin, " to ", end == 0 ? bars() : end,
                     " hold no bar where an episode can start: it needs a following bar of the "
                     "same segment inside the range"));
  }
  return range;
}

}  // namespace vixen::market
