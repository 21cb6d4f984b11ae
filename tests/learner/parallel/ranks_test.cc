// SPDX-License-Identifier: Apache-2.0
#include "learner/parallel/ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "learner/curiosity/curiosity_trainer.h"
#include "learner/trainer/device.h"
#include "learner/trainer/initial_weights.h"
#include "learner/trainer/trainer.h"
#include "tests/learner/parallel/processes.h"

namespace vixen::learner {
namespace {

using kernels::Parameters;
using kernels::WeightsKind;
using testing::HasSubstr;

constexpr uint32_t kRows = 24;  // of a rank
constexpr uint64_t kUpdates = 10;

TrainerOptions Options(uint32_t rows) {
  TrainerOptions options;
  options.architecture = {.features = 5,
                          .hidden1 = 32,
                          .hidden2 = 16,
                          .value_hidden = 16,
                          .advantage_hidden = 32,
                          .curiosity_hidden = 16};
  options.actions = {1, 19, 37};
  options.batch_size = rows;
  options.max_gradient_norm = 0.05;  // small enough to clip
  options.polyak_tau = 0.1;
  return options;
}

std::unique_ptr<Trainer> Make(uint32_t rows, Ranks* ranks) {
  TrainerOptions options = Options(rows);
  options.ranks = ranks;
  return *Trainer::Create(options, InitialWeights(options.architecture, WeightsKind::kOnline, 3),
                          InitialWeights(options.architecture, WeightsKind::kTarget, 4));
}

// Rows [first, first + batch.rows) of the joint batch of an update.
void Fill(uint64_t update, uint32_t first, uint32_t joint, Minibatch& batch) {
  std::mt19937_64 random(update);
  std::normal_distribution<float> normal;
  for (uint32_t i = 0; i < joint; ++i) {
    const bool ours = i >= first && i < first + batch.rows;
    const size_t row = ours ? i - first : 0;
    for (size_t half = 0; half < 2; ++half) {
      for (uint32_t k = 0; k < batch.state; ++k) {
        const float x = normal(random);
        if (ours) batch.states[(half * batch.rows + row) * batch.state + k] = x;
      }
    }
    const uint64_t action = random();
    const float reward = 2 * normal(random);
    const uint64_t end = random(), weight = random();
    if (!ours) continue;
    batch.action[row] = Options(kRows).actions[action % 3];
    batch.reward[row] = reward;
    batch.discount[row] = end % 4 == 0 ? 0.0f : 0.95f;
    batch.weight[row] = static_cast<float>(weight % 100 + 1) / 100.0f;
  }
}

std::string Bytes(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

std::vector<float> Floats(const std::string& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

class RanksOf : public testing::TestWithParam<int> {};

TEST_P(RanksOf, TrainAsOneLearnerWithTheJointBatch) {
  const int world = GetParam();
  const auto joint = static_cast<uint32_t>(world) * kRows;
  const std::vector<std::string> results = InProcesses(world, [&](int rank, uint16_t port) {
    const std::unique_ptr<Ranks> ranks = MustJoin(OptionsOf(rank, world, port));
    const std::unique_ptr<Trainer> trainer = Make(kRows, ranks.get());
    double loss = 0;
    for (uint64_t update = 0; update < kUpdates; ++update) {
      Fill(update, static_cast<uint32_t>(rank) * kRows, joint, trainer->minibatch());
      loss += trainer->Update()->loss;
    }
    std::vector<float> values = trainer->Export(WeightsKind::kOnline).values;
    const std::vector<float> target = trainer->Export(WeightsKind::kTarget).values;
    values.insert(values.end(), target.begin(), target.end());
    values.push_back(static_cast<float>(loss));
    return Bytes(values);
  });
  const std::unique_ptr<Trainer> alone = Make(joint, nullptr);
  double loss = 0;
  for (uint64_t update = 0; update < kUpdates; ++update) {
    Fill(update, 0, joint, alone->minibatch());
    loss += alone->Update()->loss;
  }
  std::vector<float> expected = alone->Export(WeightsKind::kOnline).values;
  const std::vector<float> target = alone->Export(WeightsKind::kTarget).values;
  expected.insert(expected.end(), target.begin(), target.end());
  expected.push_back(static_cast<float>(loss));
  for (const std::string& result : results) {
    EXPECT_EQ(result, results[0]);  // the ranks stay equal bit by bit
    const std::vector<float> values = Floats(result);
    ASSERT_EQ(values.size(), expected.size());
    for (size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(values[i], expected[i], 2e-5) << i;
  }
}

TEST_P(RanksOf, TrainOneCuriosityModel) {
  const int world = GetParam();
  const CuriosityOptions options{.architecture = Options(kRows).architecture, .batch_size = 8};
  const Parameters start = InitialWeights(options.architecture, WeightsKind::kCuriosity, 9);
  const auto fill = [](int rank, CuriosityMinibatch& batch) {
    std::mt19937_64 random(static_cast<uint64_t>(rank) + 1);
    std::normal_distribution<float> normal;
    for (float& x : batch.input) x = normal(random);
    for (float& x : batch.target) x = normal(random);
  };
  const std::vector<std::string> results = InProcesses(world, [&](int rank, uint16_t port) {
    const std::unique_ptr<Ranks> ranks = MustJoin(OptionsOf(rank, world, port));
    CuriosityOptions ours = options;
    ours.ranks = ranks.get();
    const std::unique_ptr<CuriosityTrainer> trainer = *CuriosityTrainer::Create(ours, start);
    fill(rank, trainer->minibatch());
    std::vector<float> values = {static_cast<float>(*trainer->Update())};
    const std::vector<float> weights = trainer->Export()->values;
    values.insert(values.end(), weights.begin(), weights.end());
    return Bytes(values);
  });
  CuriosityOptions joint = options;
  joint.batch_size *= static_cast<uint32_t>(world);
  const std::unique_ptr<CuriosityTrainer> alone = *CuriosityTrainer::Create(joint, start);
  CuriosityMinibatch part(options.batch_size, options.architecture);
  for (int rank = 0; rank < world; ++rank) {
    fill(rank, part);
    std::copy(part.input.begin(), part.input.end(),
              alone->minibatch().input.begin() + static_cast<ptrdiff_t>(part.input.size()) * rank);
    std::copy(
        part.target.begin(), part.target.end(),
        alone->minibatch().target.begin() + static_cast<ptrdiff_t>(part.target.size()) * rank);
  }
  const double loss = *alone->Update();
  const std::vector<float> weights = alone->Export()->values;
  for (const std::string& result : results) {
    EXPECT_EQ(result, results[0]);
    const std::vector<float> values = Floats(result);
    ASSERT_EQ(values.size(), weights.size() + 1);
    EXPECT_NEAR(values[0], loss, 1e-5);
    for (size_t i = 0; i < weights.size(); ++i) ASSERT_NEAR(values[i + 1], weights[i], 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(World, RanksOf, testing::Values(2, 3));

TEST(Ranks, AllStopAtOneRanksLossThatIsNotFinite) {
  const std::vector<std::string> results = InProcesses(2, [](int rank, uint16_t port) {
    const std::unique_ptr<Ranks> ranks = MustJoin(OptionsOf(rank, 2, port));
    const std::unique_ptr<Trainer> trainer = Make(kRows, ranks.get());
    const std::vector<float> before = trainer->Export(WeightsKind::kOnline).values;
    Fill(1, 0, kRows, trainer->minibatch());
    if (rank == 1) trainer->minibatch().reward[3] = std::numeric_limits<float>::quiet_NaN();
    const absl::Status status = trainer->Update().status();
    const bool kept = trainer->Export(WeightsKind::kOnline).values == before;
    Fill(2, 0, kRows, trainer->minibatch());
    return absl::StrCat(status.ToString(), kept ? " kept" : " changed",
                        trainer->Update().ok() ? ", goes on" : "");
  });
  EXPECT_THAT(results[0], HasSubstr("DATA_LOSS: another rank's loss at update 1 is not finite"));
  EXPECT_THAT(results[1], HasSubstr("DATA_LOSS: this rank's, nan: loss at update 1"));
  for (const std::string& result : results) EXPECT_THAT(result, HasSubstr("kept, goes on"));
}

TEST(Ranks, NameThoseThatDidNotCome) {
  const std::vector<std::string> results = InProcesses(1, [](int rank, uint16_t port) {
    RankOptions options = OptionsOf(rank, 3, port);
    options.join_timeout = std::chrono::milliseconds(1000);
    StopFlag never;
    return Ranks::Join(options, never).status().ToString();
  });
  EXPECT_THAT(results[0], HasSubstr("DEADLINE_EXCEEDED"));
  EXPECT_THAT(results[0], HasSubstr("for ranks 1, 2 of WORLD_SIZE 3"));
}

TEST(Ranks, ExchangeTextsAndTheLeadersBytes) {
  const std::vector<std::string> results = InProcesses(3, [](int rank, uint16_t port) {
    const std::unique_ptr<Ranks> ranks = MustJoin(OptionsOf(rank, 3, port));
    const std::vector<std::string> texts =
        *ranks->Gather(std::string(static_cast<size_t>(rank), 'x') + "é");
    std::vector<std::byte> bytes(3, std::byte{static_cast<unsigned char>('a' + rank)});
    const absl::Status copied = ranks->CopyFromLeader(bytes);
    return absl::StrCat(absl::StrJoin(texts, ","), " ",
                        std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
                        copied.ok() ? "" : "!");
  });
  for (const std::string& result : results) EXPECT_EQ(result, "é,xé,xxé aaa");
}

}  // namespace
}  // namespace vixen::learner

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  // No OpenMP threads: the tests fork.
  if (!vixen::learner::SetUpDevices("cpu", 0, 1).ok()) return 1;
  return RUN_ALL_TESTS();
}
