// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace vixen::learner {

// How many updates may be made together so that the training loop turns often enough for its
// probe, for a stop, and for what ranks say to each other: as many as fit into `kLongest` by the
// pace of the last ones, and at least one. Before the first are made, one.
class LaunchLength {
 public:
  static constexpr double kLongest = 2.0;  // seconds

  uint64_t Most() const {
    if (!(seconds_an_update_ > 0)) return made_ ? kAny : 1;
    const double fit = kLongest / seconds_an_update_;
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

  bool made_ = false;
  double seconds_an_update_ = 0;
};

}  // namespace vixen::learner
