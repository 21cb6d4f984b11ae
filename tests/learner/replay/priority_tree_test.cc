// SPDX-License-Identifier: Apache-2.0
#include "learner/replay/priority_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace vixen::learner {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
// One group, groups with a rest, two, three and four levels.
constexpr size_t kSizes[] = {1, 2, 5, 16, 17, 64, 256, 257, 1000, 5000};

void Set(PriorityTree& tree, uint32_t index, float value) {
  tree.SetMany(std::vector{index}, std::vector{value});
}
uint32_t Find(const PriorityTree& tree, double mass) {
  uint32_t index = 0;
  tree.FindMany({&mass, 1}, {&index, 1});
  return index;
}

// Leaves that are often zero, which sampling must never find; small integers, whose sums are exact.
std::vector<float> SomeLeaves(size_t count, std::mt19937_64& random) {
  std::vector<float> leaves(count);
  for (float& leaf : leaves) leaf = random() % 4 == 0 ? 0.0f : static_cast<float>(random() % 1000);
  return leaves;
}

// What a tree must know of its leaves.
void ExpectFigures(const PriorityTree& tree, const std::vector<float>& leaves) {
  double sum = 0;
  float least = kInfinity, most = 0;
  for (const float leaf : leaves) {
    sum += leaf;
    if (leaf > 0) least = std::min(least, leaf);
    most = std::max(most, leaf);
  }
  ASSERT_EQ(tree.sum(), sum);
  ASSERT_EQ(tree.least(), least);
  ASSERT_EQ(tree.most(), most);
  for (size_t i = 0; i < leaves.size(); ++i) ASSERT_EQ(tree.leaf(i), leaves[i]) << i;
}

TEST(PriorityTree, KnowsSumLeastAndMostOfItsLeavesHoweverTheyAreSet) {
  std::mt19937_64 random(1);
  for (const size_t size : kSizes) {
    PriorityTree tree(size, true);
    std::vector<float> leaves(size);
    ExpectFigures(tree, leaves);
    for (int round = 0; round < 60; ++round) {
      if (round % 3 == 0) {
        const size_t begin = random() % size;
        const std::vector<float> values = SomeLeaves(random() % (size - begin + 1), random);
        std::copy(values.begin(), values.end(), leaves.begin() + static_cast<ptrdiff_t>(begin));
        tree.SetRange(begin, values);
      } else {
        std::vector<uint32_t> index(64);
        for (uint32_t& i : index) i = static_cast<uint32_t>(random() % size);
        index[40] = index[3];  // drawn twice: the later value holds
        if (round % 3 == 1) std::sort(index.begin(), index.end());
        const std::vector<float> values = SomeLeaves(index.size(), random);
        for (size_t i = 0; i < index.size(); ++i) leaves[index[i]] = values[i];
        tree.SetMany(index, values);
      }
      ExpectFigures(tree, leaves);
    }
  }
}

TEST(PriorityTree, FindsTheLeafThatASumFromTheFirstOnFinds) {
  std::mt19937_64 random(2);
  for (const size_t size : kSizes) {
    PriorityTree tree(size, false);
    std::vector<float> leaves = SomeLeaves(size, random);
    leaves[size / 2] = 1.0f;
    tree.SetRange(0, leaves);
    std::vector<double> mass(300);
    for (double& u : mass) u = tree.sum() * std::generate_canonical<double, 53>(random);
    mass[0] = 0.0;
    mass[1] = tree.sum();
    mass[2] = 2 * tree.sum();
    mass[3] = leaves[0];  // on a border: the leaf after it
    std::vector<double> used = mass;
    std::vector<uint32_t> found(mass.size());
    tree.FindMany(used, found);
    for (size_t i = 0; i < mass.size(); ++i) {
      const double u = std::min(mass[i], std::nextafter(tree.sum(), 0.0));
      double through = 0;
      uint32_t expected = 0;
      while ((through += leaves[expected]) <= u) ++expected;
      ASSERT_EQ(found[i], expected) << mass[i] << " of " << tree.sum() << ", " << size << " leaves";
    }
  }
}

TEST(PriorityTree, FindsLeavesInPrefixOrderWhenTheCapacityIsNoPowerOfTwo) {
  PriorityTree tree(3, false);
  for (uint32_t i = 0; i < 3; ++i) Set(tree, i, 1.0f);
  EXPECT_EQ(Find(tree, 0.5), 0u);
  EXPECT_EQ(Find(tree, 1.0), 1u);
  EXPECT_EQ(Find(tree, 1.5), 1u);
  EXPECT_EQ(Find(tree, 2.5), 2u);
  EXPECT_EQ(Find(tree, 3.0), 2u);
}

// Magnitudes that lose most of each other in a sum: every border is rounded.
TEST(PriorityTree, NeverFindsALeafOfZeroWhateverRoundingDoes) {
  std::mt19937_64 random(4);
  std::uniform_real_distribution<float> exponent(-60, 60);
  PriorityTree tree(3000, false);
  for (int round = 0; round < 200; ++round) {
    std::vector<float> leaves(3000);
    for (float& leaf : leaves) leaf = random() % 3 == 0 ? std::exp(exponent(random)) : 0.0f;
    leaves[random() % 3000] = 1.0f;
    tree.SetRange(0, leaves);
    std::vector<double> mass;
    for (int i = 0; i < 200; ++i) {
      mass.push_back(tree.sum() * std::generate_canonical<double, 53>(random));
    }
    double through = 0;
    for (size_t i = 0; i < 3000; ++i) {  // and next to the borders
      if ((through += leaves[i]) > 0 && i % 7 == 0) {
        for (const double towards : {0.0, HUGE_VAL})
          mass.push_back(std::nextafter(through, towards));
      }
    }
    std::vector<uint32_t> found(mass.size());
    tree.FindMany(mass, found);
    for (const uint32_t i : found) ASSERT_GT(tree.leaf(i), 0.0f) << i;
  }
}

TEST(PriorityTree, EqualsTheSumOfItsLeavesAfterAMillionUpdates) {
  PriorityTree tree(1000, false);
  std::mt19937_64 random(3);
  std::uniform_real_distribution<float> exponent(-20, 20);
  for (int i = 0; i < 1'000'000; ++i) {
    Set(tree, static_cast<uint32_t>(random() % 1000), std::exp(exponent(random)));
  }
  double sum = 0;
  for (size_t i = 0; i < 1000; ++i) sum += tree.leaf(i);
  EXPECT_LT(std::abs(tree.sum() - sum) / sum, 1e-14);
}

TEST(PriorityTree, SaysTheMemoryThatItTakes) {
  EXPECT_EQ(PriorityTree::BytesOf(16, false), 16 * 4 + 16 * 20);
  EXPECT_EQ(PriorityTree::BytesOf(257, true), 272 * 4 + 32 * 24 + 16 * 24);
  EXPECT_NEAR(static_cast<double>(PriorityTree::BytesOf(1'000'000, false)), 5.34e6, 1e4);
}

}  // namespace
}  // namespace vixen::learner
