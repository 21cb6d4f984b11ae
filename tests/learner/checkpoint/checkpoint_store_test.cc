// SPDX-License-Identifier: Apache-2.0
#include "learner/checkpoint/checkpoint_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "learner/checkpoint/checkpoint_writer.h"
#include "tests/learner/checkpoint/example_cut.h"
#include "tests/scratch_folder.h"

namespace vixen::learner {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kFiles[] = {"weights.safetensors", "optimizer.safetensors",
                                  "replay.safetensors", "windows.safetensors", "state.textproto"};

class CheckpointStoreTest : public ::testing::Test {
 protected:
  CheckpointStore Store(uint32_t keep = 3) { return {folder.File("checkpoints"), keep}; }
  // The newest one's path.
  std::string Write(uint64_t updates) {
    cut.head.set_updates(updates);
    const absl::StatusOr<CheckpointStore::Written> written = Store().Write(cut);
    EXPECT_TRUE(written.ok()) << written.status();
    return written.ok() ? written->path : "";
  }
  static void FlipAByte(const std::string& path) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary | std::ios::ate);
    const std::streamoff middle = file.tellg() / 2;
    file.seekg(middle);
    const int byte = file.get();
    file.seekp(middle);
    file.put(static_cast<char>(byte ^ 4));
  }

  vixen::testing::ScratchFolder folder;
  const Plan plan = ExamplePlan();
  LearnerCut cut = ExampleCut(plan);
};

absl::Status Any(const LearnerCut& /*cut*/) { return absl::OkStatus(); }

void ExpectEqual(const OptimizerCut& a, const OptimizerCut& b) {
  EXPECT_EQ(a.first.values, b.first.values);
  EXPECT_EQ(a.second.values, b.second.values);
  EXPECT_EQ(a.steps, b.steps);
}

TEST_F(CheckpointStoreTest, GivesBackWhatWasWritten) {
  EXPECT_FALSE((*Store().Newest(false, Any)).has_value()) << "no folder yet";
  const std::string path = Write(500);
  const auto found = Store().Newest(false, Any);
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_TRUE(found->has_value());
  EXPECT_EQ((*found)->path, path);
  const LearnerCut& back = (*found)->cut;
  EXPECT_EQ(back.head.SerializeAsString(), cut.head.SerializeAsString());
  EXPECT_EQ(back.trainer.online.values, cut.trainer.online.values);
  EXPECT_EQ(back.trainer.target.values, cut.trainer.target.values);
  EXPECT_EQ(back.trainer.updates, 500u);
  ExpectEqual(back.trainer.optimizer, cut.trainer.optimizer);
  ASSERT_TRUE(back.curiosity.has_value());
  EXPECT_EQ(back.curiosity->weights.values, cut.curiosity->weights.values);
  ExpectEqual(back.curiosity->optimizer, cut.curiosity->optimizer);
  EXPECT_EQ(back.replay.leaves, cut.replay.leaves);
  EXPECT_EQ(back.replay.inserted, 90u);
  EXPECT_EQ(back.replay.sampler, cut.replay.sampler);
  EXPECT_EQ(back.window_slot, cut.window_slot);
  for (const auto& [ours, theirs] : {std::pair(&back.replay.rows, &cut.replay.rows),
                                     std::pair(&back.window_rows, &cut.window_rows)}) {
    EXPECT_EQ(ours->bar, theirs->bar);
    EXPECT_EQ(ours->bootstrap_bar, theirs->bootstrap_bar);
    EXPECT_EQ(ours->portfolio, theirs->portfolio);
    EXPECT_EQ(ours->next_portfolio, theirs->next_portfolio);
    EXPECT_EQ(ours->bootstrap_portfolio, theirs->bootstrap_portfolio);
    EXPECT_EQ(ours->reward, theirs->reward);
    EXPECT_EQ(ours->discount, theirs->discount);
    EXPECT_EQ(ours->td, theirs->td);
    EXPECT_EQ(ours->action, theirs->action);
    EXPECT_EQ(ours->flags, theirs->flags);
  }
}

TEST_F(CheckpointStoreTest, KeepsTheNewestAndRemovesWhatAKilledProcessLeft) {
  for (uint64_t i = 1; i <= 5; ++i) Write(i);
  EXPECT_THAT(Store().Numbers(), ElementsAre(3, 4, 5));
  const std::string left = Store().PathOf(6) + ".unfinished";
  ASSERT_TRUE(base::MakeFolders(left).ok());
  EXPECT_THAT(Store().Numbers(), ElementsAre(3, 4, 5));
  EXPECT_EQ(Write(6), Store().PathOf(6));
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_EQ((*Store().Newest(false, Any))->cut.head.updates(), 6u);
}

TEST_F(CheckpointStoreTest, NamesADamagedFileAndTakesAnOlderOneOnlyWhenAllowed) {
  for (const char* file : kFiles) {
    Write(1);
    const std::string damaged = Write(2) + "/" + file;
    FlipAByte(damaged);
    const auto refused = Store().Newest(false, Any);
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(refused.status().message(), HasSubstr(damaged));
    EXPECT_THAT(refused.status().message(), HasSubstr("--resume=previous-ok"));
    const auto older = Store().Newest(true, Any);
    ASSERT_TRUE(older.ok()) << older.status();
    EXPECT_EQ((*older)->cut.head.updates(), 1u);
    ASSERT_EQ((*older)->damaged.size(), 1u);
    EXPECT_THAT((*older)->damaged[0], HasSubstr(damaged));
  }
}

// Cut at each kind of place, longer than it was, gone, a folder, a link into nowhere, or the file
// of the checkpoint before.
TEST_F(CheckpointStoreTest, NamesAFileWhateverBecameOfIt) {
  namespace fs = std::filesystem;
  const std::string older = Write(1);
  cut.trainer.optimizer.steps += 1;
  cut.replay.rows.reward[0] += 1;
  cut.window_rows.reward[0] += 1;
  const std::string newest = Write(2);
  std::vector<std::string> files(std::begin(kFiles), std::end(kFiles));
  files.emplace_back("SHA256SUMS");
  for (const std::string& file : files) {
    const fs::path path = fs::path(newest) / file, aside = fs::path(newest) / "aside";
    const uintmax_t size = fs::file_size(path);
    const auto expect_named = [&](const std::string& what) {
      const auto refused = Store().Newest(false, Any);
      EXPECT_EQ(refused.status().code(), absl::StatusCode::kDataLoss) << file << " " << what;
      EXPECT_THAT(refused.status().message(), HasSubstr(newest)) << file << " " << what;
      const auto found = Store().Newest(true, Any);
      ASSERT_TRUE(found.ok()) << file << " " << what << ": " << found.status();
      EXPECT_EQ((*found)->path, older) << file << " " << what;
      fs::remove(path);
      fs::copy(aside, path);
    };
    fs::copy(path, aside);
    for (const uintmax_t left : {uintmax_t{0}, uintmax_t{1}, size / 2, size - 1}) {
      fs::resize_file(path, left);
      expect_named("cut to " + std::to_string(left));
    }
    std::ofstream(path, std::ios::app) << 'x';
    expect_named("longer");
    fs::remove(path);
    expect_named("gone");
    fs::remove(path);
    fs::create_directory(path);
    expect_named("a folder");
    fs::remove(path);
    fs::create_symlink("/nonexistent", path);
    expect_named("a link into nowhere");
    fs::remove(path);
    fs::copy(fs::path(older) / file, path);
    expect_named("of the one before");
    fs::remove(aside);
  }
}

TEST_F(CheckpointStoreTest, ACutThatIsWholeButRefusedIsPassedOverAsADamagedOne) {
  Write(1);
  const std::string refused = Write(2);
  const auto check = [](const LearnerCut& read) {
    return read.head.updates() < 2 ? absl::OkStatus()
                                   : absl::InvalidArgumentError("row 7: action is 99");
  };
  const auto newest = Store().Newest(false, check);
  EXPECT_EQ(newest.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(newest.status().message(),
            refused + ": row 7: action is 99; --resume=previous-ok goes on from an older one");
  const auto older = Store().Newest(true, check);
  ASSERT_TRUE(older.ok()) << older.status();
  EXPECT_EQ((*older)->cut.head.updates(), 1u);
  EXPECT_THAT((*older)->damaged, ElementsAre(refused + ": row 7: action is 99"));

  const absl::Status none =
      Store().Newest(true, [](const LearnerCut&) { return absl::DataLossError("no"); }).status();
  EXPECT_EQ(none.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(none.message(), HasSubstr("no checkpoint in "));
}

TEST_F(CheckpointStoreTest, NamesAMissingFileAndSaysWhenNoneIsGood) {
  const std::string path = Write(1);
  std::filesystem::remove(path + "/windows.safetensors");
  for (const bool previous_ok : {false, true}) {
    const absl::Status status = Store().Newest(previous_ok, Any).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(status.message(), HasSubstr(path + "/windows.safetensors is missing"));
  }
  std::filesystem::remove(path + "/SHA256SUMS");
  EXPECT_THAT(Store().Newest(false, Any).status().message(), HasSubstr("SHA256SUMS"));
}

TEST_F(CheckpointStoreTest, AFailedWriteLeavesTheOlderOnes) {
  Write(1);
  cut.head.set_policy("not \xff UTF-8");
  const absl::Status status = Store().Write(cut).status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(Store().Numbers(), ElementsAre(1));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.File("checkpoints")), {}), 1);
}

TEST_F(CheckpointStoreTest, TheWriterTakesOneCutAtATime) {
  CheckpointWriter writer(Store(), 100);
  EXPECT_FALSE(writer.WaitForResult().has_value());
  for (uint64_t updates : {1, 2}) {
    LearnerCut* const place = writer.Begin();
    ASSERT_NE(place, nullptr);
    *place = cut;
    place->head.set_updates(updates);
    writer.Commit();
    const std::optional<CheckpointWriter::Result> result = writer.WaitForResult();
    ASSERT_TRUE(result.has_value());
    ASSERT_TRUE(result->status.ok()) << result->status;
    ASSERT_EQ(result->runs.size(), 1u);
    EXPECT_EQ(result->runs[0].sheet().run_id(), 7u);
    EXPECT_GT(result->written.bytes, 1000u);
  }
  EXPECT_EQ((*Store().Newest(false, Any))->cut.head.updates(), 2u);
}

}  // namespace
}  // namespace vixen::learner
