// SPDX-License-Identifier: Apache-2.0
// Starts the real binaries of VIXEN_BIN_DIR and looks at how they end.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace vixen::testing {

// What a program left when it had ended.
struct ProgramResult {
  int exit_code = -1;  // −signal when a signal ended it
  std::string output;
  std::string errors;
};

// A child process; stdout and stderr go to files, so that a full pipe never stops it. What still
// runs at the end of the object is killed. Not thread-safe.
class Process {
 public:
  // `program` is a name in VIXEN_BIN_DIR. Both files are made in `folder`.
  Process(const std::string& folder, const std::string& program,
          const std::vector<std::string>& arguments);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  // SIGTERM, SIGKILL, SIGSTOP, …
  void Signal(int number) const;

  // The lines of a port file, as numbers, once it is there. Empty when the process ended before, or
  // after `limit`.
  std::vector<int> WaitForPorts(const std::string& port_file,
                                std::chrono::seconds limit = std::chrono::seconds(60));
  // True when the process ended within `limit`; then exit_code() is valid.
  bool WaitForExit(std::chrono::seconds limit = std::chrono::seconds(60));
  int exit_code() const { return exit_code_; }

  std::string Output() const;
  std::string Errors() const;

 private:
  bool Reap(bool wait);

  std::string output_file_;
  std::string error_file_;
  pid_t pid_ = -1;
  bool running_ = false;
  int exit_code_ = -1;
};

// Runs a program to its end; killed after `limit` (exit code −9 then).
ProgramResult RunProgram(const std::string& folder, const std::string& program,
                         const std::vector<std::string>& arguments,
                         std::chrono::seconds limit = std::chrono::seconds(120));

// The body of http://127.0.0.1:port/path; empty when there is no answer with status 200.
std::string HttpGet(int port, const std::string& path);

}  // namespace vixen::testing
