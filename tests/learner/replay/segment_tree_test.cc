// SPDX-License-Identifier: Apache-2.0
#include "learner/replay/segment_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace vixen::learner {
namespace {

// Leaves that are often zero, which sampling must never find.
std::vector<double> SomeLeaves(size_t count, std::mt19937_64& random) {
  std::vector<double> leaves(count);
  for (double& leaf : leaves) leaf = random() % 4 == 0 ? 0.0 : static_cast<double>(random() % 1000);
  return leaves;
}

TEST(SegmentTree, SetsManyLeavesAsOneByOne) {
  std::mt19937_64 random(1);
  SumTree one(1000), many(1000);
  MinTree one_least(1000), many_least(1000);
  std::vector<uint32_t> scratch;
  for (const bool ascending : {false, true}) {
    for (int round = 0; round < 20; ++round) {
      std::vector<uint32_t> index(64);
      for (uint32_t& i : index) i = static_cast<uint32_t>(random() % 1000);
      index[40] = index[3];  // drawn twice: the later value holds
      if (ascending) std::sort(index.begin(), index.end());
      const std::vector<double> values = SomeLeaves(index.size(), random);
      for (size_t i = 0; i < index.size(); ++i) {
        one.Set(index[i], values[i]);
        one_least.Set(index[i], values[i]);
      }
      many.SetMany(index, values, scratch);
      many_least.SetMany(index, values, scratch);
      ASSERT_EQ(many.root(), one.root());
      ASSERT_EQ(many_least.root(), one_least.root());
      for (size_t i = 0; i < 1000; ++i) ASSERT_EQ(many.leaf(i), one.leaf(i)) << i;
    }
  }
}

TEST(SegmentTree, FindsManyLeavesAsOneByOne) {
  std::mt19937_64 random(2);
  for (const size_t leaves : {1, 2, 5, 64, 1000}) {
    SumTree tree(leaves);
    std::vector<double> values = SomeLeaves(leaves, random);
    values[leaves / 2] = 1.0;
    tree.SetRange(0, values);
    std::vector<double> mass(300);
    for (double& u : mass) {
      u = tree.root() * std::generate_canonical<double, 53>(random);
    }
    mass[0] = 0.0;
    mass[1] = tree.root();
    mass[2] = values[0];
    std::vector<double> used = mass;
    std::vector<uint32_t> found(mass.size());
    tree.FindMany(used, found);
    for (size_t i = 0; i < mass.size(); ++i) {
      ASSERT_EQ(found[i], tree.Find(mass[i])) << mass[i] << " of " << tree.root();
      ASSERT_GT(tree.leaf(found[i]), 0.0);
    }
  }
}

}  // namespace
}  // namespace vixen::learner
