// SPDX-License-Identifier: Apache-2.0
#include "learner/replay/rate_limiter.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"

namespace vixen::learner {

absl::StatusOr<RateLimiter> RateLimiter::Create(const LimiterOptions& options) {
  const double launch =
      options.samples_per_insert * static_cast<double>(options.launch_rows + options.open_rows);
  const double ahead =
      static_cast<double>(options.batch) * static_cast<double>(options.prefetch + 1);
  const double least = launch + ahead;
  if (options.window == 0.0) {
    return RateLimiter(
        options, least + options.samples_per_insert * static_cast<double>(options.launch_rows));
  }
  if (options.window < least) {
    return absl::FailedPreconditionError(
        absl::StrFormat("limiter_window %g is smaller than %g = samples_per_insert %g × launch of "
                        "%d rows (and %d rows "
                        "in open n-step windows) + batch_size %d × (prefetch %d + 1): a launch "
                        "would never fit; raise "
                        "limiter_window to at least %g, or leave it 0",
                        options.window, least, options.samples_per_insert, options.launch_rows,
                        options.open_rows, options.batch, options.prefetch, least));
  }
  return RateLimiter(options, options.window);
}

void RateLimiter::Restore(uint64_t inserts, uint64_t samples, const LimiterOptions& then) {
  inserts_ = inserts;
  samples_ = samples;
  if (then.samples_per_insert == options_.samples_per_insert &&
      then.min_size == options_.min_size) {
    return;
  }
  const double error =
      inserts > then.min_size
          ? static_cast<double>(samples) -
                then.samples_per_insert * static_cast<double>(inserts - then.min_size)
          : 0.0;
  const double anew = std::round(SamplesOwed() + std::clamp(error, -window_, window_));
  samples_ = static_cast<uint64_t>(std::clamp(anew, 0.0, 0x1p63));
}

double RateLimiter::error() const {
  return static_cast<double>(samples_) -
         options_.samples_per_insert *
             (static_cast<double>(inserts_) - static_cast<double>(options_.min_size));
}

double RateLimiter::SamplesOwed() const {
  if (inserts_ <= options_.min_size) return 0.0;
  return options_.samples_per_insert * static_cast<double>(inserts_ - options_.min_size);
}

uint64_t RateLimiter::BatchesAllowed() const {
  if (inserts_ < options_.min_size) return 0;
  const double batches = std::floor((window_ - error()) / static_cast<double>(options_.batch));
  return batches < 1.0 ? 0 : static_cast<uint64_t>(batches);
}

uint64_t RateLimiter::LaunchesAllowed(uint64_t open_rows) const {
  const double room =
      window_ + error() - options_.samples_per_insert * static_cast<double>(open_rows);
  const double a_launch = options_.samples_per_insert * static_cast<double>(options_.launch_rows);
  // The slack absorbs the rounding of counters beyond 2^53.
  const double launches = std::floor(room / a_launch + 1e-9);
  return launches < 1.0 ? 0 : static_cast<uint64_t>(launches);
}

}  // namespace vixen::learner
