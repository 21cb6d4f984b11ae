// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace vixen::base {

// User and system time of a process so far; 0 when it cannot be had.
double CpuSecondsOf(pid_t pid);

// Another program that this process runs. Its stdout and stderr go to files, so that a full pipe
// never stops it. What still runs at the end of the object, or of the thread that started it, is
// killed. Not thread-safe.
class ChildProcess {
 public:
  // `path` is the program; both files are made anew. The system's reason where it cannot be run.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(
      const std::string& path, const std::vector<std::string>& arguments,
      const std::string& output_file, const std::string& error_file);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  // SIGTERM, SIGKILL, SIGSTOP, …
  void Signal(int number) const;
  // False once it ended; then exit_code() is valid.
  bool Runs() { return !Reap(/*wait=*/false); }

  // The lines of a port file, as numbers, once it is there. Empty when the process ended before, or
  // after `limit`.
  std::vector<int> WaitForPorts(const std::string& port_file,
                                std::chrono::seconds limit = std::chrono::seconds(60));
  // True when the process ended within `limit`; then exit_code() is valid.
  bool WaitForExit(std::chrono::seconds limit = std::chrono::seconds(60));
  // −signal when a signal ended it.
  int exit_code() const { return exit_code_; }

  double CpuSeconds() const { return CpuSecondsOf(pid_); }
  std::string Output() const;
  std::string Errors() const;

 private:
  ChildProcess(pid_t pid, std::string output_file, std::string error_file);
  // True when it ended.
  bool Reap(bool wait);

  const pid_t pid_;
  const std::string output_file_;
  const std::string error_file_;
  bool running_ = true;
  int exit_code_ = -1;
};

}  // namespace vixen::base
