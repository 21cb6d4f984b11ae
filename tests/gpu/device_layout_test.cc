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
#include "learner/device/tile_layout.h"

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
        const PassShape shape =
            ChoosePassShape(network, precision, rows,
                            {.capability = 86, .multiprocessors = 58, .shared_bytes = 101'376});
        EXPECT_FALSE(shape.wgmma);
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

constexpr PassDevice kHopper = {.capability = 90, .multiprocessors = 132, .shared_bytes = 232'448};

TEST(PassShape, AHopperCardTakesItsLargeMinibatchesByWgmma) {
  const DeviceNetwork network = DeviceNetworkOf({});
  const auto shape_of = [&](const DeviceNetwork& net, DevicePrecision precision, uint32_t batch,
                            PassAlgorithm algorithm) {
    return ChoosePassShape(net, precision, PaddedRows(batch), kHopper, algorithm);
  };
  const DevicePrecision tf32 = DevicePrecision::kTf32;
  EXPECT_TRUE(shape_of(network, tf32, 8192, PassAlgorithm::kBest).wgmma);
  EXPECT_TRUE(shape_of(network, tf32, 1024, PassAlgorithm::kBest).wgmma);
  EXPECT_FALSE(shape_of(network, tf32, 8192, PassAlgorithm::kMma).wgmma);
  EXPECT_FALSE(shape_of(network, tf32, 128, PassAlgorithm::kBest).wgmma);
  EXPECT_TRUE(shape_of(network, tf32, 128, PassAlgorithm::kWgmma).wgmma);
  EXPECT_FALSE(shape_of(network, DevicePrecision::kBf16, 8192, PassAlgorithm::kWgmma).wgmma);
  const DeviceNetwork wide = DeviceNetworkOf({.hidden1 = 512});
  EXPECT_FALSE(shape_of(wide, tf32, 8192, PassAlgorithm::kWgmma).wgmma);
}

TEST(PassShape, OneWaveOfBlocksTakesAMinibatchOf8192) {
  const DeviceNetwork network = DeviceNetworkOf({});
  const PassShape shape = ChoosePassShape(network, DevicePrecision::kTf32, 8192, kHopper);
  EXPECT_EQ(shape.forward_rows, 192);  // 86 + 43 blocks
  EXPECT_EQ(shape.backward_rows, 64);  // 128 blocks
}

TEST(PassShape, EveryRowIsInOnePartOfTheWeightGradients) {
  for (const uint32_t width : {16u, 64u, 128u, 256u}) {
    const DeviceNetwork network = DeviceNetworkOf({.hidden1 = width,
                                                   .hidden2 = width,
                                                   .value_hidden = width / 2,
                                                   .advantage_hidden = width / 2});
    for (const uint32_t batch : {1u, 64u, 100u, 1024u, 5000u, 8192u, 65'536u}) {
      const uint32_t rows = PaddedRows(batch);
      const PassShape shape =
          ChoosePassShape(network, DevicePrecision::kTf32, rows, kHopper, PassAlgorithm::kWgmma);
      uint32_t blocks = 0;
      for (uint32_t l = 0; l < DeviceNetwork::kLayers; ++l) {
        const uint32_t parts = shape.splits_of(l, rows), part = shape.split_rows[l];
        EXPECT_EQ(part % 32, 0u);
        EXPECT_LT((parts - 1) * part, rows);
        EXPECT_GE(parts * part, rows);
        EXPECT_LE(parts, static_cast<uint32_t>(shape.splits));
        blocks += parts * ((network.layers[l].outputs + 127) / 128);
      }
      EXPECT_LE(blocks, 132u) << width << ", " << batch;
    }
  }
}

TEST(TileLayout, EveryElementHasAPlaceOfItsOwn) {
  std::set<uint32_t> inputs, transposed;
  for (uint32_t row = 0; row < 192; ++row) {
    for (uint32_t column = 0; column < 64; ++column) {
      inputs.insert(tile::InputByte(192, row, column));
    }
  }
  EXPECT_EQ(inputs.size(), 192u * 64);
  EXPECT_EQ(*inputs.rbegin(), (192u * 64 - 1) * 4);
  for (uint32_t feature = 0; feature < 64; ++feature) {
    for (uint32_t row = 0; row < 96; ++row) {
      transposed.insert(row / 32 * 64 * 128 +
                        tile::Swizzled(feature, tile::RowPlace(row % 32) * 4));
    }
  }
  EXPECT_EQ(transposed.size(), 64u * 96);
  EXPECT_EQ(*transposed.rbegin(), (64u * 96 - 1) * 4);
}

TEST(DeviceUpdater, SaysWhatIsMissing) {
  if (CheckDeviceUpdater(0).ok()) GTEST_SKIP() << "there is a GPU";
  EXPECT_EQ(UpdaterGpus(), 0);
  EXPECT_EQ(CheckDeviceUpdater(0).code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace vixen::learner
