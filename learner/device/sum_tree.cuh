// SPDX-License-Identifier: Apache-2.0
// The tree's nodes, a warp at a time.
#pragma once

#include <cstdint>

#include "learner/device/sum_tree.h"

namespace vixen::learner {

inline constexpr int kTreeThreads = 256;  // eight warps

struct NodeValue {
  double sum;
  float least, most;
};

__device__ __forceinline__ NodeValue Combine(const NodeValue& a, const NodeValue& b) {
  return {a.sum + b.sum, fminf(a.least, b.least), fmaxf(a.most, b.most)};
}

__device__ __forceinline__ NodeValue ValueOfLeaf(float leaf) {
  return {leaf, leaf > 0.0f ? leaf : INFINITY, leaf};
}

// Over the 32 lanes, in a fixed order; in every lane.
__device__ __forceinline__ NodeValue WarpCombine(NodeValue value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value = Combine(
        value, {__shfl_xor_sync(~0u, value.sum, offset), __shfl_xor_sync(~0u, value.least, offset),
                __shfl_xor_sync(~0u, value.most, offset)});
  }
  return value;
}

// This lane's four children of `node` of `level` (0: its children are leaves).
__device__ __forceinline__ void LoadChildren(const SumTreeView& tree, uint32_t level, uint32_t node,
                                             NodeValue (&child)[4]) {
  const uint32_t first = node * SumTreeView::kFanOut + threadIdx.x % 32 * 4;
  if (level == 0) {
    const float4 leaf = *reinterpret_cast<const float4*>(tree.leaves + first);
    child[0] = ValueOfLeaf(leaf.x);
    child[1] = ValueOfLeaf(leaf.y);
    child[2] = ValueOfLeaf(leaf.z);
    child[3] = ValueOfLeaf(leaf.w);
    return;
  }
  const TreeLevel& below = tree.levels[level - 1];
#pragma unroll
  for (uint32_t c = 0; c < 4; ++c) {
    child[c] = {below.sum[first + c], below.least[first + c], below.most[first + c]};
  }
}

// Recomputes a node; a warp together.
__device__ __forceinline__ void RecomputeNode(const SumTreeView& tree, uint32_t level,
                                              uint32_t node) {
  NodeValue child[4];
  LoadChildren(tree, level, node, child);
  const NodeValue value =
      WarpCombine(Combine(Combine(child[0], child[1]), Combine(child[2], child[3])));
  if (threadIdx.x % 32 != 0) return;
  tree.levels[level].sum[node] = value.sum;
  tree.levels[level].least[node] = value.least;
  tree.levels[level].most[node] = value.most;
}

// All rows: the nodes of the last level.
__device__ __forceinline__ NodeValue RootOf(const SumTreeView& tree) {
  NodeValue child[4];
  LoadChildren(tree, tree.level_count, 0, child);
  return WarpCombine(Combine(Combine(child[0], child[1]), Combine(child[2], child[3])));
}

// Of the 128 children the one in whose share the mass `u` lies; `u` becomes the rest. `u ≥ prefix`
// goes on; never a child without mass while one has any, whatever rounding did to `u`.
__device__ __forceinline__ uint32_t ChooseChild(const NodeValue (&child)[4], double& u) {
  const uint32_t lane = threadIdx.x % 32;
  const double own = child[0].sum + child[1].sum + child[2].sum + child[3].sum;
  double through = own;
  for (int offset = 1; offset < 32; offset *= 2) {
    const double before = __shfl_up_sync(~0u, through, offset);
    if (lane >= static_cast<uint32_t>(offset)) through += before;
  }
  double begin = __shfl_up_sync(~0u, through, 1);
  if (lane == 0) begin = 0.0;
  // This lane's first child that ends beyond u, and its last one with any mass.
  uint32_t hit = 4, last = 4;
  double hit_begin = 0.0, last_begin = 0.0;
#pragma unroll
  for (uint32_t c = 0; c < 4; ++c) {
    const double end = begin + child[c].sum;
    if (child[c].sum > 0.0) {
      if (hit == 4 && u < end) {
        hit = c;
        hit_begin = begin;
      }
      last = c;
      last_begin = begin;
    }
    begin = end;
  }
  const uint32_t hits = __ballot_sync(~0u, hit < 4), massive = __ballot_sync(~0u, last < 4);
  const bool any = hits != 0;
  const int from = any ? __ffs(static_cast<int>(hits)) - 1 : 31 - __clz(static_cast<int>(massive));
  const uint32_t chosen = __shfl_sync(~0u, any ? hit : last, from);
  const double start = __shfl_sync(~0u, any ? hit_begin : last_begin, from);
  u = fmax(0.0, u - start);
  return static_cast<uint32_t>(from) * 4 + chosen;
}

}  // namespace vixen::learner
