// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/scratch_folder.h"

namespace vixen::base {
namespace {

using ::testing::HasSubstr;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

TEST(ReadFile, ReturnsTheWholeContents) {
  testing::ScratchFolder scratch;
  const std::string text = std::string("a\0b", 3) + std::string(200'000, 'x');
  ASSERT_TRUE(WriteFileAtomically(scratch.File("f"), text).ok());
  EXPECT_EQ(ReadFile(scratch.File("f")).value(), text);
  ASSERT_TRUE(WriteFileAtomically(scratch.File("f"), "").ok());
  EXPECT_EQ(ReadFile(scratch.File("f")).value(), "");
}

TEST(ReadFile, ReadsFilesThatDoNotSayTheirSize) {
  EXPECT_THAT(ReadFile("/proc/self/status").value(), HasSubstr("Pid:"));
}

TEST(ReadFile, NamesTheMissingFile) {
  testing::ScratchFolder scratch;
  const auto result = ReadFile(scratch.File("missing"));
  EXPECT_EQ(result.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(result.status()), HasSubstr(scratch.File("missing")));
}

TEST(ReadFile, RefusesAFolder) {
  testing::ScratchFolder scratch;
  const auto result = ReadFile(scratch.path());
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(Message(result.status()), HasSubstr("directory"));
}

TEST(WriteFileAtomically, ReplacesTheOldFileAndLeavesNothingElse) {
  testing::ScratchFolder scratch;
  ASSERT_TRUE(WriteFileAtomically(scratch.File("f"), "old").ok());
  ASSERT_TRUE(WriteFileAtomically(scratch.File("f"), "new").ok());
  EXPECT_EQ(ReadFile(scratch.File("f")).value(), "new");
  EXPECT_EQ(scratch.Count(), 1u);
}

TEST(WriteFileAtomically, HonoursTheUmask) {
  testing::ScratchFolder scratch;
  const mode_t before = ::umask(027);
  const absl::Status status = WriteFileAtomically(scratch.File("f"), "x");
  ::umask(before);
  ASSERT_TRUE(status.ok()) << status;
  struct stat info;
  ASSERT_EQ(::stat(scratch.File("f").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
}

TEST(WriteFileAtomically, KeepsTheOldFileWhenTheProducerFails) {
  testing::ScratchFolder scratch;
  ASSERT_TRUE(WriteFileAtomically(scratch.File("f"), "old").ok());
  const absl::Status status = WriteFileAtomically(scratch.File("f"), [](const ByteSink& sink) {
    const std::string part = "half";
    EXPECT_TRUE(sink(std::as_bytes(std::span(part))).ok());
    return absl::DataLossError("row 7 is damaged");
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Message(status), "row 7 is damaged");
  EXPECT_EQ(ReadFile(scratch.File("f")).value(), "old");
  EXPECT_EQ(scratch.Count(), 1u);
}

TEST(WriteFileAtomically, NamesTheFolderThatIsNotThere) {
  testing::ScratchFolder scratch;
  const absl::Status status = WriteFileAtomically(scratch.File("no/such/f"), "x");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(status), HasSubstr("no/such/f"));
}

TEST(WriteFileAtomically, RefusesToReplaceADevice) {
  const absl::Status status = WriteFileAtomically("/dev/full", "x");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("/dev/full: it is not a regular file"));
}

TEST(WriteFileAtomically, WritersOfTheSameFileDoNotMixTheirBytes) {
  testing::ScratchFolder scratch;
  std::vector<std::thread> writers;
  for (char letter : {'a', 'b', 'c'}) {
    writers.emplace_back([&, letter] {
      for (int i = 0; i < 20; ++i) {
        EXPECT_TRUE(WriteFileAtomically(scratch.File("f"), std::string(5'000, letter)).ok());
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  const std::string text = ReadFile(scratch.File("f")).value();
  EXPECT_EQ(text, std::string(5'000, text.at(0)));
  EXPECT_EQ(scratch.Count(), 1u);
}

// In a child, so that the limit does not bind the other tests. Exit code 0: as promised.
TEST(WriteFileAtomically, LeavesNothingBehindWhenAFileGrowsTooLarge) {
  testing::ScratchFolder scratch;
  ASSERT_TRUE(WriteFileAtomically(scratch.File("f"), "old").ok());
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const absl::Status status = WriteFileAtomically(scratch.File("f"), std::string(10'000, 'x'));
    const bool named = status.message().find(scratch.File("f")) != absl::string_view::npos;
    ::_exit(status.code() == absl::StatusCode::kResourceExhausted && named ? 0 : 1);
  }
  int result = -1;
  ASSERT_EQ(::waitpid(child, &result, 0), child);
  EXPECT_EQ(result, 0);
  EXPECT_EQ(ReadFile(scratch.File("f")).value(), "old");
  EXPECT_EQ(scratch.Count(), 1u);
}

TEST(WriteFileAtomically, LeavesNothingBehindOnAFullDisk) {
  testing::ScratchFolder scratch;
  const std::string disk = scratch.File("disk");
  std::filesystem::create_directory(disk);
  if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=64k") != 0) {
    GTEST_SKIP() << "mounting a file system is not allowed here";
  }
  const absl::Status small = WriteFileAtomically(disk + "/f", "old");
  const absl::Status large = WriteFileAtomically(disk + "/f", std::string(1 << 20, 'x'));
  const auto left = ReadFile(disk + "/f");
  const auto files = std::distance(std::filesystem::directory_iterator(disk), {});
  ::umount2(disk.c_str(), MNT_DETACH);
  EXPECT_TRUE(small.ok()) << small;
  EXPECT_EQ(large.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(large), HasSubstr(disk + "/f: No space left on device"));
  EXPECT_EQ(left.value_or("gone"), "old");
  EXPECT_EQ(files, 1);
}

TEST(MakeFolders, MakesEveryMissingPart) {
  testing::ScratchFolder scratch;
  EXPECT_TRUE(MakeFolders(scratch.File("a/b/c/")).ok());
  EXPECT_TRUE(std::filesystem::is_directory(scratch.File("a/b/c")));
  EXPECT_TRUE(MakeFolders(scratch.File("a/b/c")).ok());
}

TEST(MakeFolders, NamesThePartThatIsAFile) {
  testing::ScratchFolder scratch;
  ASSERT_TRUE(WriteFileAtomically(scratch.File("a"), "x").ok());
  const absl::Status status = MakeFolders(scratch.File("a/b"));
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr(scratch.File("a") + ":"));
}

TEST(ErrnoToStatus, KeepsTheCauseApart) {
  const auto code = [](int error) { return ErrnoToStatus(error, "cannot open", "f").code(); };
  EXPECT_EQ(code(ENOENT), absl::StatusCode::kNotFound);
  EXPECT_EQ(code(EACCES), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(code(EEXIST), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(code(ENOSPC), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(code(EMFILE), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(code(EIO), absl::StatusCode::kInternal);
  EXPECT_EQ(Message(ErrnoToStatus(ENOENT, "cannot open", "f")),
            "cannot open f: No such file or directory");
}

}  // namespace
}  // namespace vixen::base
