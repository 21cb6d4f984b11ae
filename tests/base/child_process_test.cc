// SPDX-License-Identifier: Apache-2.0
#include "base/child_process.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <thread>

#include "base/file.h"
#include "tests/scratch_folder.h"

namespace vixen::base {
namespace {

class ChildProcessTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<ChildProcess>> Shell(const std::string& script) {
    return ChildProcess::Start("/bin/sh", {"-c", script}, folder_.File("out"), folder_.File("err"));
  }
  vixen::testing::ScratchFolder folder_;
};

TEST_F(ChildProcessTest, KeepsWhatItSaidAndHowItEnded) {
  const auto child = Shell("echo said; echo wrong >&2; exit 7");
  ASSERT_TRUE(child.ok()) << child.status();
  ASSERT_TRUE((*child)->WaitForExit());
  EXPECT_EQ((*child)->exit_code(), 7);
  EXPECT_FALSE((*child)->Runs());
  EXPECT_EQ((*child)->Output(), "said\n");
  EXPECT_EQ((*child)->Errors(), "wrong\n");
}

TEST_F(ChildProcessTest, TakesSignals) {
  const auto child = Shell("exec sleep 100");
  ASSERT_TRUE(child.ok()) << child.status();
  EXPECT_TRUE((*child)->Runs());
  (*child)->Signal(SIGTERM);
  ASSERT_TRUE((*child)->WaitForExit());
  EXPECT_EQ((*child)->exit_code(), -SIGTERM);
}

TEST_F(ChildProcessTest, WaitsForPortsUntilTheyAreThereOrTheProcessEnds) {
  const std::string ports = folder_.File("ports");
  const auto child = Shell("printf '50051\\n9090\\n' > " + ports + ".new; mv " + ports + ".new " +
                           ports + "; exec sleep 100");
  ASSERT_TRUE(child.ok()) << child.status();
  EXPECT_EQ((*child)->WaitForPorts(ports), (std::vector<int>{50051, 9090}));
  const auto ended = Shell("exit 0");
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_EQ((*ended)->WaitForPorts(folder_.File("none")), std::vector<int>());
}

TEST_F(ChildProcessTest, DiesWithTheThreadThatStartedIt) {
  absl::StatusOr<std::unique_ptr<ChildProcess>> child;
  std::thread([&] { child = Shell("exec sleep 100"); }).join();
  ASSERT_TRUE(child.ok()) << child.status();
  ASSERT_TRUE((*child)->WaitForExit());
  EXPECT_EQ((*child)->exit_code(), -SIGKILL);
}

TEST_F(ChildProcessTest, CountsCpuTime) {
  const auto child = Shell("while :; do :; done");
  ASSERT_TRUE(child.ok()) << child.status();
  while ((*child)->CpuSeconds() < 0.01) std::this_thread::yield();
  EXPECT_GT(CpuSecondsOf(getpid()), 0);
}

TEST_F(ChildProcessTest, SaysWhyAProgramCannotBeRun) {
  const auto missing =
      ChildProcess::Start(folder_.File("none"), {}, folder_.File("out"), folder_.File("err"));
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound) << missing.status();
  ASSERT_TRUE(WriteFileAtomically(folder_.File("text"), "no program").ok());
  const auto text =
      ChildProcess::Start(folder_.File("text"), {}, folder_.File("out"), folder_.File("err"));
  EXPECT_EQ(text.status().code(), absl::StatusCode::kPermissionDenied) << text.status();
}

}  // namespace
}  // namespace vixen::base
