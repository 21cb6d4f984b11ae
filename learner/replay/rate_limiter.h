// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace vixen::learner {

struct LimiterOptions {
  uint64_t min_size = 1000;        // rows inserted before the first update
  double samples_per_insert = 32;  // spi
  double window = 0;               // 0: the least that keeps two launches in flight
  uint64_t launch_rows = 0;        // N·L of the largest actor
  uint64_t open_rows = 0;  // most rows that n-step windows hold back, N·(n−1) an actor or 0
  uint64_t batch = 128;    // rows an update samples
  uint64_t prefetch = 0;   // batches sampled ahead of their update
};

// Keeps |samples − spi·(inserts − min_size)| ≤ window once min_size rows are in: an update may
// sample, a launch may be asked for, only while the bound will hold after it. Plain arithmetic, one
// thread.
class RateLimiter {
 public:
  // FAILED_PRECONDITION naming window and least window when
  // window < spi·(launch_rows + open_rows) + batch·(prefetch + 1): a launch could then never fit,
  // and learner and actor would wait for each other for ever.
  static absl::StatusOr<RateLimiter> Create(const LimiterOptions& options);

  // The counters of a checkpoint, made with the settings `then`; the settings stay those of now.
  // Where samples_per_insert or min_size are others, samples are counted anew so that the error is
  // what it was, within the window: what was inserted before is neither sampled after all nor
  // waited for.
  void Restore(uint64_t inserts, uint64_t samples, const LimiterOptions& then);

  void Inserted(uint64_t rows) { inserts_ += rows; }
  void Sampled(uint64_t rows) { samples_ += rows; }

  // samples − spi·(inserts − min_size).
  double error() const;
  double window() const { return window_; }
  uint64_t inserts() const { return inserts_; }
  uint64_t samples() const { return samples_; }

  // The most batches that may be sampled now.
  uint64_t BatchesAllowed() const;
  // One more batch may be.
  bool CanSample() const { return BatchesAllowed() > 0; }
  // The most whole launches that may be under way (granted or running) without breaking the bound,
  // when `open_rows` received rows still wait for their n-step window.
  uint64_t LaunchesAllowed(uint64_t open_rows) const;
  // Samples that belong to the rows inserted so far: spi·(inserts − min_size).
  double SamplesOwed() const;

 private:
  RateLimiter(const LimiterOptions& options, double window) : options_(options), window_(window) {}

  LimiterOptions options_;
  double window_;
  uint64_t inserts_ = 0;
  uint64_t samples_ = 0;
};

}  // namespace vixen::learner
