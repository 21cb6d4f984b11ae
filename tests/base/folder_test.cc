// SPDX-License-Identifier: Apache-2.0
#include "base/folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

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

TEST(FolderLock, KeepsTheNextOneOutUntilItIsGone) {
  const vixen::testing::ScratchFolder scratch;
  const std::string folder = scratch.path().string();
  {
    const absl::StatusOr<FolderLock> first = FolderLock::Take(folder);
    ASSERT_TRUE(first.ok()) << first.status();
    const absl::Status second = FolderLock::Take(folder).status();
    EXPECT_EQ(second.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(second.message(), HasSubstr(folder + " is in use"));
  }
  EXPECT_TRUE(FolderLock::Take(folder).ok());
}

TEST(FolderLock, IsNotLeftBehindByAProcessThatWasKilled) {
  const vixen::testing::ScratchFolder scratch;
  const std::string folder = scratch.path().string();
  int held[2];
  ASSERT_EQ(pipe(held), 0);
  const pid_t child = fork();
  if (child == 0) {
    const absl::StatusOr<FolderLock> lock = FolderLock::Take(folder);
    const char taken = lock.ok() ? 'y' : 'n';
    if (write(held[1], &taken, 1) == 1) pause();
    _exit(0);
  }
  char taken = 0;
  ASSERT_EQ(read(held[0], &taken, 1), 1);
  ASSERT_EQ(taken, 'y');
  EXPECT_EQ(FolderLock::Take(folder).status().code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_EQ(kill(child, SIGKILL), 0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(FolderLock::Take(folder).ok());
}

TEST(FolderLock, NamesAFolderThatIsMissing) {
  const vixen::testing::ScratchFolder scratch;
  const absl::Status status = FolderLock::Take(scratch.File("none")).status();
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
