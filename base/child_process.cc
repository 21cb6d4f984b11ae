// SPDX-License-Identifier: Apache-2.0
#include "base/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

#include "base/file.h"

namespace vixen::base {
namespace {

using Clock = std::chrono::steady_clock;

std::string ReadWhole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// There is no event for a file of another process to appear: look again in a while.
void LookAgainLater() { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }

// Between fork and exec: only what is async-signal-safe. Comes back when a call failed.
void RunProgram(char* const* argv, const char* output_file, const char* error_file) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
  const std::array<int, 3> files = {open("/dev/null", O_RDONLY | O_CLOEXEC),
                                    open(output_file, flags, 0600), open(error_file, flags, 0600)};
  for (int i = 0; i < 3; ++i) {
    const int file = files[static_cast<size_t>(i)];
    if (file < 0) return;
    // Onto itself dup2 would leave it to be closed by exec.
    if ((file == i ? fcntl(file, F_SETFD, 0) : dup2(file, i)) < 0) return;
  }
  execv(argv[0], argv);
}

}  // namespace

double CpuSecondsOf(pid_t pid) {
  clockid_t clock{};
  timespec time{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(
    const std::string& path, const std::vector<std::string>& arguments,
    const std::string& output_file, const std::string& error_file) {
  std::vector<std::string> words = {path};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  // Carries errno of what failed; a program that runs closes it.
  std::array<int, 2> failure{};
  if (pipe2(failure.data(), O_CLOEXEC) != 0) return ErrnoToStatus(errno, "make a pipe for", path);
  const pid_t child = fork();
  if (child == 0) {
    RunProgram(argv.data(), output_file.c_str(), error_file.c_str());
    const int reason = errno;
    [[maybe_unused]] const ssize_t written = write(failure[1], &reason, sizeof reason);
    _exit(127);
  }
  int reason = child < 0 ? errno : 0;
  close(failure[1]);
  if (child > 0) {
    ssize_t got = 0;
    do {
      got = read(failure[0], &reason, sizeof reason);
    } while (got < 0 && errno == EINTR);
    if (got > 0) waitpid(child, nullptr, 0);
  }
  close(failure[0]);
  if (reason != 0) return ErrnoToStatus(reason, "start", path);
  return std::unique_ptr<ChildProcess>(new ChildProcess(child, output_file, error_file));
}

ChildProcess::ChildProcess(pid_t pid, std::string output_file, std::string error_file)
    : pid_(pid), output_file_(std::move(output_file)), error_file_(std::move(error_file)) {}

ChildProcess::~ChildProcess() {
  if (!running_) return;
  kill(pid_, SIGKILL);
  Reap(true);
}

void ChildProcess::Signal(int number) const {
  if (running_) kill(pid_, number);
}

bool ChildProcess::Reap(bool wait) {
  if (!running_) return true;
  int state = 0;
  if (waitpid(pid_, &state, wait ? 0 : WNOHANG) != pid_) return false;
  running_ = false;
  exit_code_ = WIFEXITED(state) ? WEXITSTATUS(state) : -WTERMSIG(state);
  return true;
}

std::vector<int> ChildProcess::WaitForPorts(const std::string& port_file,
                                            std::chrono::seconds limit) {
  const Clock::time_point deadline = Clock::now() + limit;
  while (Clock::now() < deadline) {
    std::ifstream file(port_file);
    std::vector<int> ports;
    for (int port; file >> port;) ports.push_back(port);
    if (!ports.empty()) return ports;
    if (Reap(false)) return {};
    LookAgainLater();
  }
  return {};
}

bool ChildProcess::WaitForExit(std::chrono::seconds limit) {
  const Clock::time_point deadline = Clock::now() + limit;
  while (!Reap(false)) {
    if (Clock::now() > deadline) return false;
    LookAgainLater();
  }
  return true;
}

std::string ChildProcess::Output() const { return ReadWhole(output_file_); }
std::string ChildProcess::Errors() const { return ReadWhole(error_file_); }

}  // namespace vixen::base
