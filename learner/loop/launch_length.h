// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace vixen::learner {

// How many updates may be made together so that the training loop turns often enough for its
// probe, for a stop, and for what ranks say to each other: as many as fit into `longest` seconds by
// the pace of the last ones, and at least one. Before the first are made, one.
class LaunchLength {
 public:
  static constexpr double kLongest = 2.0;  // seconds, for a learner alone

  // Where other ranks take a silence of so many seconds for a loss, a launch may take a quarter of
  // it, as it may turn out longer than the ones before.
  static LaunchLength WithSilence(double seconds) {
    LaunchLength length;
    length.longest_ = std::min(kLongest, seconds / 4);
    return length;
  }

  uint64_t Most() const {
    if (!(seconds_an_update_ > 0)) return made_ ? kAny : 1;
    const double fit = longest_ / seconds_an_update_;
    return fit < static_cast<double>(kAny) ? std::max<uint64_t>(1, static_cast<uint64_t>(fit))
                                           : kAny;
  }
  void Made(uint64_t updates, double seconds) {
    if (updates == 0) return;
    made_ = true;
    seconds_an_update_ = seconds / static_cast<double>(updates);
  }

 private:
  static constexpr uint64_t kAny = 1 << 20;

  double longest_ = kLongest;
  bool made_ = false;
  double seconds_an_update_ = 0;
};

}  // namespace vixen::learner
