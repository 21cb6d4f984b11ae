// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace vixen::learner {

// A complete binary tree over a power-of-two number of leaves; every inner node is combine(left,
// right) of its children in float64. Parents are recomputed, never adjusted by differences, so that
// an outlier leaves no residue. Not thread-safe. Memory: 16 bytes a leaf.
template <typename Combine>
class SegmentTree {
 public:
  // At least `leaves` leaves (≥ 1), all holding `neutral`, the value that combine ignores.
  SegmentTree(size_t leaves, double neutral)
      : width_(std::bit_ceil(leaves)), nodes_(2 * width_, neutral) {}

  size_t width() const { return width_; }
  double root() const { return nodes_[1]; }
  double leaf(size_t index) const { return nodes_[width_ + index]; }
  std::span<const double> leaves() const { return std::span(nodes_).subspan(width_); }

  // O(log leaves).
  void Set(size_t index, double value) {
    size_t node = width_ + index;
    nodes_[node] = value;
    for (node /= 2; node > 0; node /= 2) Recompute(node);
  }

  // leaf(index[i]) = values[i] in this order, level by level: the loads of a level do not wait for
  // each other. Cheapest for ascending indices, whose common parents are computed once. `scratch`
  // is memory that is used again. O(count · log leaves).
  void SetMany(std::span<const uint32_t> index, std::span<const double> values,
               std::vector<uint32_t>& scratch) {
    scratch.resize(index.size());
    for (size_t i = 0; i < index.size(); ++i) {
      nodes_[width_ + index[i]] = values[i];
      scratch[i] = static_cast<uint32_t>(width_ + index[i]);
    }
    size_t count = index.size();
    for (size_t level = width_; level > 1; level /= 2) {
      // A parent of neighbours once; no branch, which would often be guessed wrong.
      size_t kept = 0;
      for (size_t i = 0; i < count; ++i) {
        const uint32_t parent = scratch[i] / 2;
        scratch[kept] = parent;
        kept += i + 1 == count || scratch[i + 1] / 2 != parent ? 1 : 0;
      }
      for (size_t i = 0; i < kept; ++i) Recompute(scratch[i]);
      count = kept;
    }
  }

  // Consecutive leaves [begin, begin + values.size()): O(values + log leaves).
  void SetRange(size_t begin, std::span<const double> values) {
    if (values.empty()) return;
    for (size_t i = 0; i < values.size(); ++i) nodes_[width_ + begin + i] = values[i];
    size_t first = (width_ + begin) / 2;
    size_t last = (width_ + begin + values.size() - 1) / 2;
    for (; first > 0; first /= 2, last /= 2) {
      for (size_t node = first; node <= last; ++node) Recompute(node);
    }
  }

 protected:
  double node(size_t index) const { return nodes_[index]; }

 private:
  void Recompute(size_t node) { nodes_[node] = Combine()(nodes_[2 * node], nodes_[2 * node + 1]); }

  size_t width_;
  std::vector<double> nodes_;  // 1 is the root, [width_, 2·width_) the leaves
};

struct Sum {
  double operator()(double a, double b) const { return a + b; }
};
struct Least {
  double operator()(double a, double b) const { return a < b ? a : b; }
};

class MinTree : public SegmentTree<Least> {
 public:
  explicit MinTree(size_t leaves) : SegmentTree(leaves, std::numeric_limits<double>::infinity()) {}
};

struct Most {
  double operator()(double a, double b) const { return a > b ? a : b; }
};

class MaxTree : public SegmentTree<Most> {
 public:
  explicit MaxTree(size_t leaves) : SegmentTree(leaves, 0.0) {}
};

class SumTree : public SegmentTree<Sum> {
 public:
  explicit SumTree(size_t leaves) : SegmentTree(leaves, 0.0) {}

  // The leaf in whose share of [0, root()) the mass `u` lies: `u ≥ left` goes right. Never a leaf
  // of zero mass while root() > 0, whatever rounding did to `u`. O(log leaves).
  size_t Find(double u) const {
    const double most = root() * (1.0 - 1e-12);
    if (u > most) u = most;
    size_t index = 1;
    while (index < width()) {
      const double left = node(2 * index);
      const double right = node(2 * index + 1);
      if (left > 0.0 && (u < left || right == 0.0)) {
        index = 2 * index;
      } else {
        u -= left;
        index = 2 * index + 1;
      }
    }
    return index - width();
  }

  // Find for each of `u`, into `index`; `u` is used up. Level by level, as SetMany.
  void FindMany(std::span<double> u, std::span<uint32_t> index) const {
    const double most = root() * (1.0 - 1e-12);
    for (size_t i = 0; i < u.size(); ++i) {
      u[i] = u[i] > most ? most : u[i];
      index[i] = 1;
    }
    for (size_t level = 1; level < width(); level *= 2) {
      for (size_t i = 0; i < u.size(); ++i) {
        const double left = node(2 * size_t{index[i]});
        const double right = node(2 * size_t{index[i]} + 1);
        // No branch: half of them would be guessed wrong.
        const int goes_left = int{left > 0.0} & (int{u[i] < left} | int{right == 0.0});
        u[i] -= left * (1 - goes_left);
        index[i] = 2 * index[i] + static_cast<uint32_t>(1 - goes_left);
      }
    }
    for (uint32_t& found : index) found -= static_cast<uint32_t>(width());
  }
};

}  // namespace vixen::learner
