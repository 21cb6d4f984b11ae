// SPDX-License-Identifier: Apache-2.0
#include "tool/verify/verify.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "base/tensor_file.h"
#include "tests/golden/golden_folder.h"

namespace vixen::tool {
namespace {

class VerifyFolderTest : public testing::Test {
 protected:
  VerifyFolderTest()
      : folder_(testing::TempDir() + "/verify_" +
                testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~VerifyFolderTest() override { std::filesystem::remove_all(folder_); }

  absl::Status Verify() {
    return VerifyFolder(folder_, kernels::Precision::kFp32, kernels::MakeCpuCollector, out_);
  }

  // The case `narrow` with one tensor's bytes or one metadata value changed.
  void WriteSpoiled(const std::string& tensor, const std::function<void(std::byte*)>& spoil,
                    const std::string& key = "", const std::string& value = "") {
    const auto file = base::TensorFile::Open(GoldenFolder() + "/narrow.safetensors").value();
    std::vector<std::vector<std::byte>> copies;
    base::TensorFileWriter writer;
    for (const auto& [name, text] : file.metadata()) {
      if (name != "sha256") writer.Metadata(name, name == key ? value : text);
    }
    for (const base::TensorView& view : file.tensors()) {
      copies.emplace_back(view.bytes.begin(), view.bytes.end());
      if (view.name == tensor) spoil(copies.back().data());
    }
    for (size_t i = 0; i < copies.size(); ++i) {
      const base::TensorView& view = file.tensors()[i];
      writer.Tensor(view.name, view.dtype, view.shape, copies[i]);
    }
    ASSERT_TRUE(writer.Write(folder_ + "/narrow.safetensors").ok());
  }

  template <typename T>
  static std::function<void(std::byte*)> Add(size_t element, T amount) {
    return [=](std::byte* bytes) {
      T value;
      std::memcpy(&value, bytes + element * sizeof value, sizeof value);
      value = static_cast<T>(value + amount);
      std::memcpy(bytes + element * sizeof value, &value, sizeof value);
    };
  }

  void ExpectFailure(const std::string& culprit) {
    const absl::Status status = Verify();
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
    EXPECT_NE(out_.str().find("FAILED"), std::string::npos);
    EXPECT_NE(out_.str().find(culprit), std::string::npos) << out_.str();
  }

  const std::string folder_;
  std::ostringstream out_;
};

TEST_F(VerifyFolderTest, PassesAnUnspoiledCaseAndSkipsOtherFiles) {
  WriteSpoiled("", [](std::byte*) {});
  std::filesystem::copy(GoldenFolder() + "/features.safetensors", folder_);
  EXPECT_TRUE(Verify().ok()) << out_.str();
  EXPECT_NE(out_.str().find("passed narrow.safetensors"), std::string::npos) << out_.str();
  EXPECT_NE(out_.str().find("skipped features.safetensors"), std::string::npos) << out_.str();
}

TEST_F(VerifyFolderTest, FailsOnAWrongReward) {
  WriteSpoiled("out.reward", Add<float>(100, 1e-3f));
  ExpectFailure("at slot 1, step 4");
}

TEST_F(VerifyFolderTest, FailsOnAWrongAction) {
  WriteSpoiled("out.action", Add<int32_t>(7, 1));
  ExpectFailure("1 actions");
}

TEST_F(VerifyFolderTest, FailsOnAWrongBar) {
  WriteSpoiled("out.bar", Add<int32_t>(7, 1));
  ExpectFailure("1 bars");
}

TEST_F(VerifyFolderTest, FailsOnABarrierResultThatIsNoTie) {
  WriteSpoiled("out.flags", [](std::byte* bytes) { bytes[3] ^= std::byte{8}; });
  ExpectFailure("1 flags");
}

TEST_F(VerifyFolderTest, FailsOnNanInTheCase) {
  WriteSpoiled("out.q", [](std::byte* bytes) { std::memset(bytes, 0xFF, 4); });
  ExpectFailure("q inf");
}

TEST_F(VerifyFolderTest, FailsUnderAnotherSetting) {
  WriteSpoiled(
      "", [](std::byte*) {}, "gamma", "0.9");
  ExpectFailure("td ");
}

TEST_F(VerifyFolderTest, NamesTheSettingThatIsNotANumber) {
  WriteSpoiled(
      "", [](std::byte*) {}, "gamma", "\"high\"");
  ExpectFailure("metadata gamma = \"high\"");
}

TEST_F(VerifyFolderTest, FailsOnAFileThatCannotBeRead) {
  std::ofstream(folder_ + "/broken.safetensors") << "not a tensor file";
  ExpectFailure("broken.safetensors");
}

TEST_F(VerifyFolderTest, NeedsACase) {
  EXPECT_EQ(Verify().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(
      VerifyFolder(folder_ + "/nowhere", kernels::Precision::kFp32, kernels::MakeCpuCollector, out_)
          .code(),
      absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace vixen::tool
