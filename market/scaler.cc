// SPDX-License-Identifier: Apache-2.0
#include "market/scaler.h"

#include <algorithm>
#include <cmath>

namespace vixen::market {

ScalerFit::ScalerFit(size_t width)
    : width_(width), mean_(width, 0.0), squares_(width, 0.0), largest_(width, 0.0) {}

void ScalerFit::AddToMean(std::span<const float> rows) {
  for (size_t at = 0; at < rows.size(); at += width_) {
    for (size_t column = 0; column < width_; ++column) {
      const double x = rows[at + column];
      mean_[column] += x;
      largest_[column] = std::max(largest_[column], std::fabs(x));
    }
  }
  const size_t count = width_ == 0 ? 0 : rows.size() / width_;
  rows_ += static_cast<double>(count);
}

void ScalerFit::AddToDeviation(std::span<const float> rows) {
  if (!mean_known_) {
    for (double& value : mean_) value /= rows_;
    mean_known_ = true;
  }
  for (size_t at = 0; at < rows.size(); at += width_) {
    for (size_t column = 0; column < width_; ++column) {
      const double deviation = rows[at + column] - mean_[column];
      squares_[column] += deviation * deviation;
    }
  }
}

FittedScaler ScalerFit::Finish() const {
  FittedScaler fitted;
  fitted.scaler.mean = mean_;
  for (size_t column = 0; column < width_; ++column) {
    const double deviation = std::sqrt(squares_[column] / rows_);
    const bool constant = deviation <= 1e-12 * largest_[column];
    fitted.constant.push_back(constant ? 1 : 0);
    fitted.scaler.scale.push_back(constant ? 1.0 : deviation);
  }
  return fitted;
}

FittedScaler FitScaler(std::span<const float> features, size_t width, BarRange training) {
  const std::span<const float> rows =
      features.subspan(training.begin * width, (training.end - training.begin) * width);
  ScalerFit fit(width);
  fit.AddToMean(rows);
  fit.AddToDeviation(rows);
  return fit.Finish();
}

std::vector<uint64_t> ApplyScaler(const FittedScaler& fitted, std::span<float> features) {
  const size_t width = fitted.scaler.mean.size();
  const size_t rows = features.size() / width;
  std::vector<uint64_t> clipped(width, 0);
  for (size_t row = 0; row < rows; ++row) {
    float* values = &features[row * width];
    for (size_t column = 0; column < width; ++column) {
      const double y = (values[column] - fitted.scaler.mean[column]) / fitted.scaler.scale[column];
      const double bounded = std::clamp(y, -kScalerClip, kScalerClip);
      const bool constant = fitted.constant[column] != 0;
      clipped[column] += !constant && bounded != y;
      values[column] = constant ? 0.0f : static_cast<float>(bounded);
    }
  }
  return clipped;
}

}  // namespace vixen::market
