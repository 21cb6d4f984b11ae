// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace vixen::learner {

// What one actor may be given.
struct CreditRoom {
  bool ready = false;
  int64_t outstanding = 0;  // launches granted and not received
  int64_t most = 0;         // that may be outstanding
};

// Shares launches out among actors, each to one that has the fewest outstanding, of equals by
// turns. So quick actors get more than slow ones, and one that stands still keeps what it holds
// instead of collecting what the others would run. One thread.
class CreditTurns {
 public:
  // Launches by actor, at most `launches` in all. O(launches · actors).
  std::vector<int64_t> Share(int64_t launches, std::span<const CreditRoom> actors);

 private:
  size_t turn_ = 0;
};

}  // namespace vixen::learner
