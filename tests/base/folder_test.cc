// SPDX-License-Identifier: Apache-2.0
#include "base/folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "tests/scratch_folder.h"

namespace vixen::base {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(SyncFolder, TakesAFileSystemThatCannotSyncFoldersAsGood) {
  EXPECT_TRUE(SyncFolder(vixen::testing::ScratchFolder().path().parent_path().string()).ok());
  const absl::Status status = SyncFolder("/proc");  // fsync says EINVAL there
  EXPECT_TRUE(status.ok()) << status;
}

TEST(SyncFolder, NamesAFolderThatIsMissing) {
  const vixen::testing::ScratchFolder scratch;
  const absl::Status status = SyncFolder(scratch.File("none"));
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr(scratch.File("none")));
}

TEST(TensorFilesIn, GivesTheFilesByNameAndNothingElse) {
  const vixen::testing::ScratchFolder scratch;
  EXPECT_THAT(*TensorFilesIn(scratch.path().string()), IsEmpty());
  for (const char* name : {"b.safetensors", "a.safetensors", "c.json"}) {
    ASSERT_TRUE(WriteFileAtomically(scratch.File(name), "").ok());
  }
  EXPECT_THAT(*TensorFilesIn(scratch.path().string()),
              ElementsAre(scratch.File("a.safetensors"), scratch.File("b.safetensors")));
}

TEST(TensorFilesIn, NamesAFolderThatCannotBeRead) {
  const vixen::testing::ScratchFolder scratch;
  const absl::Status status = TensorFilesIn(scratch.File("none")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr(scratch.File("none")));
}

}  // namespace
}  // namespace vixen::base
