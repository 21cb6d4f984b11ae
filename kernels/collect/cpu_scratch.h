// SPDX-License-Identifier: Apache-2.0
// What one thread of the CPU executor works in.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/collect/cpu_collector.h"

namespace vixen::kernels {

inline constexpr size_t kRowBlock = 64;       // rows of one forward pass, at most
inline constexpr size_t kRowsPerPiece = 512;  // of phase 2

struct CpuCollector::Scratch {
  explicit Scratch(const Architecture& architecture)
      : state(architecture.state() * kRowBlock),
        layers(std::max(CpuQNetwork::ScratchWidth(architecture),
                        CpuCuriosityNetwork::ScratchWidth(architecture)) *
               kRowBlock),
        q(kActions * kRowBlock),
        next_state(architecture.embedding() * kRowBlock),
        guess(architecture.embedding() * kRowBlock),
        curiosity_input((architecture.embedding() + kCategories) * kRowBlock) {
    valid.reserve(kRowsPerPiece);
    bootstrapped.reserve(kRowsPerPiece);
    unknown.reserve(kRowsPerPiece);
  }

  AlignedFloats state;
  AlignedFloats layers;
  AlignedFloats q;
  AlignedFloats next_state;
  AlignedFloats guess;
  AlignedFloats curiosity_input;
  std::vector<size_t> valid;                // rows of a piece
  std::vector<size_t> bootstrapped;         // those with a Q'(s', a')
  std::vector<size_t> unknown;              // double_dqn: those whose a' no later row gives
  uint8_t next_action[kRowsPerPiece] = {};  // double_dqn: a' of a row, by its place in the piece
};

}  // namespace vixen::kernels
