// SPDX-License-Identifier: Apache-2.0
#include "learner/loop/credit_turns.h"

namespace vixen::learner {

std::vector<int64_t> CreditTurns::Share(int64_t launches, std::span<const CreditRoom> actors) {
  std::vector<int64_t> grants(actors.size(), 0);
  for (; launches > 0; --launches) {
    size_t chosen = actors.size();
    int64_t fewest = 0;
    for (size_t i = 0; i < actors.size(); ++i) {
      const size_t actor = (turn_ + i) % actors.size();
      const int64_t held = actors[actor].outstanding + grants[actor];
      if (!actors[actor].ready || held >= actors[actor].most) continue;
      if (chosen != actors.size() && held >= fewest) continue;
      chosen = actor;
      fewest = held;
    }
    if (chosen == actors.size()) break;
    ++grants[chosen];
    turn_ = chosen + 1;
  }
  return grants;
}

}  // namespace vixen::learner
