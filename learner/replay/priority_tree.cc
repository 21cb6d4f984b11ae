// SPDX-License-Identifier: Apache-2.0
#include "learner/replay/priority_tree.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace vixen::learner {
namespace {

constexpr size_t kFanOut = PriorityTree::kFanOut;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
// The largest number below x, as a factor.
constexpr double kBelow = 1.0 - 0x1p-53;

uint64_t Padded(uint64_t count) { return (count + kFanOut - 1) / kFanOut * kFanOut; }

// Vectors of GCC and clang: whatever the processor has, the operations and their order are these.
constexpr size_t kLanes = 4, kVectors = kFanOut / kLanes;
using Doubles [[gnu::vector_size(kLanes * sizeof(double))]] = double;
using Longs [[gnu::vector_size(kLanes * sizeof(int64_t))]] = int64_t;
using Floats [[gnu::vector_size(kLanes * sizeof(float))]] = float;

// The 16 numbers of a group, which begins at a cache line.
const Doubles* AsDoubles(const double* group) { return reinterpret_cast<const Doubles*>(group); }
const Floats* AsFloats(const float* group) { return reinterpret_cast<const Floats*>(group); }

// Of 16 leaves in a fixed order, four additions deep.
inline double SumOf(const float* leaf) {
  const Floats* const from = AsFloats(leaf);
  const Doubles sum =
      (__builtin_convertvector(from[0], Doubles) + __builtin_convertvector(from[2], Doubles)) +
      (__builtin_convertvector(from[1], Doubles) + __builtin_convertvector(from[3], Doubles));
  return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

inline float LeastOf(const float* group) {
  const Floats* const from = AsFloats(group);
  const Floats a = from[0] < from[1] ? from[0] : from[1];
  const Floats b = from[2] < from[3] ? from[2] : from[3];
  const Floats c = a < b ? a : b;
  return std::min(std::min(c[0], c[2]), std::min(c[1], c[3]));
}
inline float MostOf(const float* group) {
  const Floats* const from = AsFloats(group);
  const Floats a = from[0] > from[1] ? from[0] : from[1];
  const Floats b = from[2] > from[3] ? from[2] : from[3];
  const Floats c = a > b ? a : b;
  return std::max(std::max(c[0], c[2]), std::max(c[1], c[3]));
}

inline float LeastPositiveOf(const float* leaf) {
  alignas(base::kCacheLine) float positive[kFanOut];
  const Floats infinity = {kInfinity, kInfinity, kInfinity, kInfinity};
  for (size_t v = 0; v < kVectors; ++v) {
    const Floats x = AsFloats(leaf)[v];
    const Floats kept = x > 0.0f ? x : infinity;
    for (size_t lane = 0; lane < kLanes; ++lane) positive[v * kLanes + lane] = kept[lane];
  }
  return LeastOf(positive);
}

// How many of the 16 sums `through` a group are at most u.
inline uint32_t CountUpTo(const double* through, double u) {
  const Doubles* const sums = AsDoubles(through);
  // Comparisons give 0 or −1.
  const Longs count = ((sums[0] <= u) + (sums[1] <= u)) + ((sums[2] <= u) + (sums[3] <= u));
  return static_cast<uint32_t>(-((count[0] + count[1]) + (count[2] + count[3])));
}

// The one of 16 leaves, not all 0, in whose share the mass u lies.
inline uint32_t LeafOf(const float* leaf, double u) {
  alignas(base::kCacheLine) double through[kFanOut];
  double before = 0;
  for (size_t v = 0; v < kVectors; ++v) {
    const Doubles x = __builtin_convertvector(AsFloats(leaf)[v], Doubles), none = {};
    const Doubles pairs = x + __builtin_shufflevector(x, none, 4, 0, 1, 2);
    const Doubles sums = (pairs + __builtin_shufflevector(pairs, none, 4, 4, 0, 1)) + before;
    before = sums[kLanes - 1];
    for (size_t lane = 0; lane < kLanes; ++lane) through[v * kLanes + lane] = sums[lane];
  }
  uint32_t found = std::min(CountUpTo(through, u), uint32_t{kFanOut - 1});
  if (leaf[found] > 0.0f) [[likely]]
    return found;
  // Only where sums were rounded in another order: the next one of any mass.
  while (found > 0 && !(leaf[found] > 0.0f)) --found;
  while (!(leaf[found] > 0.0f)) ++found;
  return found;
}

// `nodes` become their parents, a parent of neighbours once.
size_t ToParents(std::vector<uint32_t>& nodes, size_t count) {
  size_t kept = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t parent = nodes[i] / kFanOut;
    nodes[kept] = parent;
    // No branch, which would often be guessed wrong.
    kept += i + 1 == count || nodes[i + 1] / kFanOut != parent ? 1 : 0;
  }
  return kept;
}

}  // namespace

PriorityTree::PriorityTree(size_t leaves, bool with_most)
    : leaves_(Padded(leaves)), least_(kInfinity), with_most_(with_most) {
  size_t nodes = leaves_.size();
  do {
    nodes = Padded(nodes / kFanOut);
    Level& level = levels_.emplace_back();
    level.sum.resize(nodes);
    level.through.resize(nodes);
    level.least.resize(nodes, kInfinity);
    if (with_most_) level.most.resize(nodes);
  } while (nodes > kFanOut);
}

uint64_t PriorityTree::BytesOf(uint64_t leaves, bool with_most) {
  uint64_t nodes = Padded(leaves), bytes = nodes * sizeof(float);
  do {
    nodes = Padded(nodes / kFanOut);
    bytes += nodes * (2 * sizeof(double) + (with_most ? 2 : 1) * sizeof(float));
  } while (nodes > kFanOut);
  return bytes;
}

inline void PriorityTree::RecomputeAboveLeaves(size_t node) {
  const float* const leaf = &leaves_[node * kFanOut];
  Level& level = levels_.front();
  level.sum[node] = SumOf(leaf);
  level.least[node] = LeastPositiveOf(leaf);
  if (with_most_) level.most[node] = MostOf(leaf);
}

// The parent of group `node` of `level`.
inline void PriorityTree::RecomputeAbove(size_t level, size_t node) {
  Level& below = levels_[level];
  const double* const sum = &below.sum[node * kFanOut];
  double* const through = &below.through[node * kFanOut];
  double total = 0;
  for (size_t i = 0; i < kFanOut; ++i) through[i] = total += sum[i];
  const float least = LeastOf(&below.least[node * kFanOut]);
  const float most = with_most_ ? MostOf(&below.most[node * kFanOut]) : 0.0f;
  if (level + 1 == levels_.size()) {
    least_ = least;
    most_ = most;
    return;
  }
  Level& own = levels_[level + 1];
  own.sum[node] = total;
  own.least[node] = least;
  if (with_most_) own.most[node] = most;
}

void PriorityTree::SetMany(std::span<const uint32_t> index, std::span<const float> values) {
  if (index.empty()) return;
  for (size_t i = 0; i < index.size(); ++i) leaves_[index[i]] = values[i];
  touched_.assign(index.begin(), index.end());
  size_t count = ToParents(touched_, index.size());
  for (size_t i = 0; i < count; ++i) RecomputeAboveLeaves(touched_[i]);
  for (size_t level = 0; level < levels_.size(); ++level) {
    count = ToParents(touched_, count);
    for (size_t i = 0; i < count; ++i) RecomputeAbove(level, touched_[i]);
  }
}

void PriorityTree::SetRange(size_t begin, std::span<const float> values) {
  if (values.empty()) return;
  std::copy(values.begin(), values.end(), leaves_.begin() + static_cast<ptrdiff_t>(begin));
  size_t first = begin / kFanOut, last = (begin + values.size() - 1) / kFanOut;
  for (size_t node = first; node <= last; ++node) RecomputeAboveLeaves(node);
  for (size_t level = 0; level < levels_.size(); ++level) {
    first /= kFanOut;
    last /= kFanOut;
    for (size_t node = first; node <= last; ++node) RecomputeAbove(level, node);
  }
}

void PriorityTree::FindMany(std::span<double> mass, std::span<uint32_t> index) const {
  const size_t count = mass.size();
  std::fill(index.begin(), index.end(), 0);
  // A child's share of its group is [through of the one before, its own): never empty where its
  // sum is 0, as the mass stays below the group's total.
  for (size_t level = levels_.size(); level-- > 0;) {
    const double* const all = levels_[level].through.data();
    const double* const next = level > 0 ? levels_[level - 1].through.data() : nullptr;
    for (size_t i = 0; i < count; ++i) {
      const double* const through = all + size_t{index[i]} * kFanOut;
      const double most = through[kFanOut - 1] * kBelow;
      const double u = mass[i] < most ? mass[i] : most;
      const uint32_t child = CountUpTo(through, u);
      const uint32_t before = child == 0 ? 0 : child - 1;
      mass[i] = u - (child == 0 ? 0.0 : through[before]);
      const uint32_t chosen = index[i] * kFanOut + child;
      index[i] = chosen;
      if (next != nullptr) {
        __builtin_prefetch(next + size_t{chosen} * kFanOut);
        __builtin_prefetch(next + size_t{chosen} * kFanOut + kFanOut / 2);
      } else {
        __builtin_prefetch(leaves_.data() + size_t{chosen} * kFanOut);
      }
    }
  }
  for (size_t i = 0; i < count; ++i) {
    index[i] = index[i] * kFanOut + LeafOf(&leaves_[size_t{index[i]} * kFanOut], mass[i]);
  }
}

}  // namespace vixen::learner
