// SPDX-License-Identifier: Apache-2.0
#include "server/metrics/load_estimate.h"

#include <algorithm>
#include <cmath>

namespace vixen::server {

void LoadEstimate::Add(double launching_seconds, double waiting_seconds) {
  const double kept = std::exp(-(launching_seconds + waiting_seconds) / kMemorySeconds);
  std::lock_guard lock(mutex_);
  launching_ = launching_ * kept + launching_seconds;
  waiting_ = waiting_ * kept + waiting_seconds;
}

double LoadEstimate::LearnersNeeded(uint32_t streams, uint32_t most) const {
  if (streams == 0) return 1;
  const double ceiling = std::min<double>(most, 2.0 * streams);
  std::lock_guard lock(mutex_);
  const double seen = launching_ + waiting_;
  if (seen < kLeastSeconds) return streams;
  if (launching_ <= 0) return ceiling;
  return std::clamp(std::ceil(streams * seen / launching_ - 0.1), 1.0, ceiling);
}

}  // namespace vixen::server
