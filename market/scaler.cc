// SPDX-License-Identifier: Apache-2.0
#include "market/scaler.h"

#include <algorithm>
#include <cmath>

namespace vixen::market {

FittedScaler FitScaler(std::span<const float> features, size_t width, BarRange training) {
  const double rows = static_cast<double>(training.end - training.begin);
  std::vector<double> mean(width, 0.0), scale(width, 0.0), largest(width, 0.0);
  for (uint64_t row = training.begin; row < training.end; ++row) {
    for (size_t column = 0; column < width; ++column) {
      const double x = features[row * width + column];
      mean[column] += x;
      largest[column] = std::max(largest[column], std::fabs(x));
    }
  }
  for (double& value : mean) value /= rows;
  for (uint64_t row = training.begin; row < training.end; ++row) {
    for (size_t column = 0; column < width; ++column) {
      const double deviation = features[row * width + column] - mean[column];
      scale[column] += deviation * deviation;
    }
  }
  FittedScaler fitted;
  for (size_t column = 0; column < width; ++column) {
    const double deviation = std::sqrt(scale[column] / rows);
    const bool constant = deviation <= 1e-12 * largest[column];
    fitted.constant.push_back(constant ? 1 : 0);
    scale[column] = constant ? 1.0 : deviation;
  }
  fitted.scaler = {std::move(mean), std::move(scale)};
  return fitted;
}

std::vector<double> ApplyScaler(const FittedScaler& fitted, std::span<float> features) {
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
  std::vector<double> shares;
  shares.reserve(width);
  for (const uint64_t count : clipped) {
    shares.push_back(static_cast<double>(count) / static_cast<double>(std::max<size_t>(rows, 1)));
  }
  return shares;
}

}  // namespace vixen::market
