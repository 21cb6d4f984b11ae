// SPDX-License-Identifier: Apache-2.0
#include "learner/client/dataset_fetch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>
#include <atomic>
#include <thread>

#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "learner/client/channel.h"
#include "tests/learner/client/scripted_actor.h"

namespace vixen::learner {
namespace {

namespace fs = std::filesystem;

class DatasetFetchTest : public testing::Test {
 protected:
  DatasetFetchTest() {
    folder_ = testing::TempDir() + "dataset_fetch_" + std::to_string(getpid());
    fs::create_directories(folder_);
    market::Dataset::Parts parts;
    parts.feature_names = {"a", "b"};
    for (int i = 0; i < 500; ++i) {
      parts.features.insert(parts.features.end(), {0.5f, static_cast<float>(i)});
      parts.targets.insert(parts.targets.end(), {1, 1, 1, 1});
      parts.last.push_back(i == 499 ? 1 : 0);
      parts.timestamp.push_back(i);
    }
    parts.scaler = {{0, 0}, {1, 1}};
    dataset_ = *market::Dataset::Create(std::move(parts));
    const std::string path = folder_ + "/original.safetensors";
    EXPECT_TRUE(dataset_->Write(path).ok());
    bytes_ = *base::ReadFile(path);
    info_.set_fingerprint(
        std::string(dataset_->fingerprint().begin(), dataset_->fingerprint().end()));
    info_.set_file_bytes(bytes_.size());
    stub_ = v1::Actor::NewStub(*MakeChannel(actor_.address(), v1::TlsSettings()));
    // Pieces of 1,000 bytes; the transfer breaks after `break_after` of them.
    actor_.on_dataset = [this](const v1::GetDatasetRequest& request,
                               grpc::ServerWriter<v1::GetDatasetResponse>& writer) {
      offsets_.push_back(request.offset());
      int pieces = 0;
      for (uint64_t at = request.offset(); at < bytes_.size(); at += 1000) {
        if (pieces++ == break_after_) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "gone");
        v1::GetDatasetResponse response;
        response.set_offset(at);
        response.set_total_bytes(bytes_.size());
        response.set_data(bytes_.substr(at, 1000));
        writer.Write(response);
      }
      return grpc::Status::OK;
    };
  }
  ~DatasetFetchTest() override { fs::remove_all(folder_); }

  std::vector<std::string> CacheFiles() {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_ + "/cache")) {
      names.push_back(entry.path().extension());
    }
    return names;
  }

  std::string folder_, bytes_;
  std::shared_ptr<const market::Dataset> dataset_;
  v1::DatasetInfo info_;
  ScriptedActor actor_;
  std::unique_ptr<v1::Actor::Stub> stub_;
  std::vector<uint64_t> offsets_;
  int break_after_ = -1;
  StopFlag stop_;
};

TEST_F(DatasetFetchTest, FetchesOnceAndThenReadsTheCache) {
  for (int i = 0; i < 2; ++i) {
    const auto dataset = FetchDataset(*stub_, info_, folder_ + "/cache", stop_);
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    EXPECT_EQ((*dataset)->fingerprint(), dataset_->fingerprint());
  }
  EXPECT_THAT(offsets_, testing::ElementsAre(0u));
  EXPECT_THAT(CacheFiles(), testing::ElementsAre(".safetensors"));
}

TEST_F(DatasetFetchTest, LearnersThatStartTogetherFetchItOnce) {
  std::vector<std::thread> learners;
  std::atomic<int> loaded = 0;
  for (int i = 0; i < 6; ++i) {
    learners.emplace_back([&] {
      const auto dataset = FetchDataset(*stub_, info_, folder_ + "/cache", stop_);
      EXPECT_TRUE(dataset.ok()) << dataset.status();
      loaded += dataset.ok() ? 1 : 0;
    });
  }
  for (std::thread& learner : learners) learner.join();
  EXPECT_EQ(loaded, 6);
  EXPECT_THAT(offsets_, testing::ElementsAre(0u));
  EXPECT_THAT(CacheFiles(), testing::ElementsAre(".safetensors"));
}

TEST_F(DatasetFetchTest, GoesOnWhereATransferBroke) {
  break_after_ = 8;
  const auto dataset = FetchDataset(*stub_, info_, folder_ + "/cache", stop_);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_GT(offsets_.size(), 1u);
  for (size_t i = 0; i < offsets_.size(); ++i) EXPECT_EQ(offsets_[i], i * 8000);
}

TEST_F(DatasetFetchTest, RefusesOtherBytesThanAnnouncedAndLeavesNoFile) {
  bytes_[bytes_.size() - 1] = static_cast<char>(bytes_.back() ^ 1);
  const absl::Status status = FetchDataset(*stub_, info_, folder_ + "/cache", stop_).status();
  EXPECT_FALSE(status.ok());
  EXPECT_TRUE(CacheFiles().empty());
}

TEST_F(DatasetFetchTest, NamesBothFingerprintsOfAFileThatIsNotTheActors) {
  info_.set_fingerprint(std::string(32, 'x'));
  const absl::Status status =
      LoadMatchingDataset(folder_ + "/original.safetensors", info_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), testing::HasSubstr(base::ToHex(dataset_->fingerprint())));
  EXPECT_THAT(status.message(), testing::HasSubstr("7878787878"));
}

TEST_F(DatasetFetchTest, StopsWhenAskedTo) {
  break_after_ = 0;
  stop_.Set();
  EXPECT_EQ(FetchDataset(*stub_, info_, folder_ + "/cache", stop_).status().code(),
            absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace vixen::learner
