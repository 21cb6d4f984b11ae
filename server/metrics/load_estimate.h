// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>

namespace vixen::server {

// How many learners would keep the actor busy, from what the collector thread did lately: time in
// launches against time without credit, each second weighing e^(−age / kMemorySeconds).
// Thread-safe.
class LoadEstimate {
 public:
  static constexpr double kMemorySeconds = 60;
  static constexpr double kLeastSeconds = 5;  // seen before anything is said

  void Add(double launching_seconds, double waiting_seconds);

  // `streams` over the share of time in launches, rounded up where the last learner would have a
  // tenth of its work or more; at most twice the streams that are there, so that a scaler goes up
  // step by step; never above `most`. 1 without a stream.
  double LearnersNeeded(uint32_t streams, uint32_t most) const;

 private:
  mutable std::mutex mutex_;
  double launching_ = 0;
  double waiting_ = 0;
};

}  // namespace vixen::server
