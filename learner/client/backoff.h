// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace vixen::learner {

// Asks threads to stop, and wakes those that wait. Thread-safe.
class StopFlag {
 public:
  void Set() {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  bool stopped() const {
    std::lock_guard lock(mutex_);
    return stopped_;
  }
  // True when stopped before the time is over.
  bool WaitFor(std::chrono::nanoseconds time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [this] { return stopped_; });
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
};

// Waits between attempts: 0.2 s, doubling up to 1 s, back to 0.2 s after a success. An actor that
// comes back after an outage of any length gets its learners within a second.
class Backoff {
 public:
  void Reset() { next_ = kLeast; }
  // False when stopped meanwhile.
  bool Wait(StopFlag& stop) {
    const std::chrono::milliseconds now = next_;
    next_ = std::min(2 * next_, kMost);
    return !stop.WaitFor(now);
  }

 private:
  static constexpr std::chrono::milliseconds kLeast{200};
  static constexpr std::chrono::milliseconds kMost{1000};
  std::chrono::milliseconds next_ = kLeast;
};

}  // namespace vixen::learner
