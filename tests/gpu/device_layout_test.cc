// SPDX-License-Identifier: Apache-2.0
// What of the learner's device path can be checked without a GPU: the network's padded layout, the
// tree's shape, how a minibatch is cut into blocks, and that a machine without a GPU says so.
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "learner/device/device_updater.h"
#include "learner/device/network_kernels.h"
#include "learner/device/network_layout.h"
#include "learner/device/sum_tree.h"

namespace vixen::learner {
namespace {

using kernels::Parameters;
using kernels::WeightsKind;

TEST(DeviceNetwork, EveryParameterComesBackFromThePaddedLayout) {
  for (const kernels::Architecture& architecture :
       {kernels::Architecture(), kernels::Architecture{.features = 7,
                                 .hidden1 = 48,
                                 .hidden2 = 32,
                                 .value_hidden = 16,
                                 .advantage_hidden = 80,
                                 .curiosity_hidden = 16}}) {
    Parameters parameters{.architecture = architecture, .kind = WeightsKind::kTarget};
    parameters.values.resize(kernels::ParameterCount(architecture, WeightsKind::kTarget));
    std::iota(parameters.values.begin(), parameters.values.end(), 1.0f);
    const DeviceNetwork network = DeviceNetworkOf(architecture);
    const std::vector<float> padded = ToDeviceLayout(network, parameters);
    EXPECT_EQ(padded.size(), network.parameters);
    // Each once; the rest is padding.
    std::multiset<float> seen(padded.begin(), padded.end());
    EXPECT_EQ(seen.count(0.0f), padded.size() - parameters.values.size());
    const Parameters back =
        FromDeviceLayout(network, padded.data(), architecture, WeightsKind::kTarget);
    EXPECT_EQ(back.values, parameters.values);
  }
}

TEST(DeviceNetwork, TheHeadKeepsTheStreamsApart) {
  const kernels::Architecture architecture;
  const DeviceNetwork network = DeviceNetworkOf(architecture);
  Parameters parameters{.architecture = architecture};
  parameters.values.assign(kernels::ParameterCount(architecture, WeightsKind::kOnline), 1.0f);
  const std::vector<float> padded = ToDeviceLayout(network, parameters);
  const DeviceLayer& head = network.layers[3];
  for (uint32_t row = 0; row < head.outputs; ++row) {
    for (uint32_t column = 0; column < head.inputs; ++column) {
      const bool real = row == 0 ? column < 128 : row <= 45 && column >= 128;
      ASSERT_EQ(padded[head.weight + row * head.inputs + column], real ? 1.0f : 0.0f)
          << row << ", " << column;
    }
  }
}

TEST(SumTreeShape, TheLastLevelIsReadAtOnce) {
  for (const uint64_t capacity : {1ull, 16ull, 128ull, 129ull, 16'384ull, 16'385ull, 1'000'000ull,
                                  100'000'000ull, 1'000'000'000ull}) {
    const SumTreeView shape = TreeShapeOf(capacity);
    ASSERT_LE(shape.level_count, SumTreeView::kMostLevels);
    EXPECT_LE(shape.nodes[shape.level_count - 1], SumTreeView::kFanOut);
    EXPECT_EQ(shape.nodes[0], (capacity + 127) / 128);
  }
  EXPECT_EQ(TreeShapeOf(1'000'000).level_count, 2u);
}

TEST(PassShape, BlocksCoverTheMinibatchAndFit) {
  for (const uint32_t width : {16u, 128u, 256u, 512u, 1024u}) {
    const DeviceNetwork network = DeviceNetworkOf({.hidden1 = width,
                                                   .hidden2 = width,
                                                   .value_hidden = std::min(512u, width),
                                                   .advantage_hidden = std::min(512u, width)});
    for (const DevicePrecision precision :
         {DevicePrecision::kFp32, DevicePrecision::kTf32, DevicePrecision::kBf16}) {
      for (const uint32_t batch : {1u, 100u, 1024u, 8192u, 65'536u}) {
        const uint32_t rows = PaddedRows(batch);
        ASSERT_GE(rows, batch);
        // What sm_86 and sm_89 allow a block.
        const PassShape shape = ChoosePassShape(network, precision, rows, 58, 101'376);
        EXPECT_EQ(rows % static_cast<uint32_t>(shape.forward_rows), 0u);
        EXPECT_EQ(rows % static_cast<uint32_t>(shape.backward_rows), 0u);
        EXPECT_GE(256 * static_cast<uint32_t>(shape.tiles), network.widest);
        EXPECT_GE(shape.splits, 1);
        const size_t row_bytes = network.widest * ElementBytes(precision) + 16;
        EXPECT_LE(static_cast<size_t>(shape.forward_rows) * row_bytes, 101'376u);
      }
    }
  }
}

TEST(DeviceUpdater, SaysWhatIsMissing) {
  if (CheckDeviceUpdater(0).ok()) GTEST_SKIP() << "there is a GPU";
  EXPECT_EQ(UpdaterGpus(), 0);
  EXPECT_EQ(CheckDeviceUpdater(0).code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace vixen::learner
