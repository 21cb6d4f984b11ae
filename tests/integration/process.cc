// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

extern char** environ;

namespace vixen::testing {
namespace {

using Clock = std::chrono::steady_clock;

std::string ReadWhole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string FreshName(const std::string& folder, const std::string& program) {
  static std::atomic<int> count = 0;
  return folder + "/" + program + "." + std::to_string(++count);
}

// There is no event for a file of another process to appear: look again in a while.
void LookAgainLater() { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }

}  // namespace

Process::Process(const std::string& folder, const std::string& program,
                 const std::vector<std::string>& arguments) {
  const char* bin = std::getenv("VIXEN_BIN_DIR");
  if (bin == nullptr) throw std::runtime_error("VIXEN_BIN_DIR is not set");
  std::string path = std::string(bin) + "/" + program;
  const std::string name = FreshName(folder, program);
  output_file_ = name + ".out";
  error_file_ = name + ".err";

  std::vector<std::string> words = arguments;
  std::vector<char*> argv = {path.data()};
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  const int flags = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, output_file_.c_str(), flags, 0600);
  posix_spawn_file_actions_addopen(&files, 2, error_file_.c_str(), flags, 0600);
  const int failed = posix_spawn(&pid_, path.c_str(), &files, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) throw std::runtime_error("cannot start " + path);
  running_ = true;
}

Process::~Process() {
  if (!running_) return;
  kill(pid_, SIGKILL);
  Reap(true);
}

void Process::Signal(int number) const {
  if (running_) kill(pid_, number);
}

bool Process::Reap(bool wait) {
  if (!running_) return true;
  int state = 0;
  if (waitpid(pid_, &state, wait ? 0 : WNOHANG) != pid_) return false;
  running_ = false;
  exit_code_ = WIFEXITED(state) ? WEXITSTATUS(state) : -WTERMSIG(state);
  return true;
}

std::vector<int> Process::WaitForPorts(const std::string& port_file, std::chrono::seconds limit) {
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

bool Process::WaitForExit(std::chrono::seconds limit) {
  const Clock::time_point deadline = Clock::now() + limit;
  while (!Reap(false)) {
    if (Clock::now() > deadline) return false;
    LookAgainLater();
  }
  return true;
}

std::string Process::Output() const { return ReadWhole(output_file_); }
std::string Process::Errors() const { return ReadWhole(error_file_); }

ProgramResult RunProgram(const std::string& folder, const std::string& program,
                         const std::vector<std::string>& arguments, std::chrono::seconds limit) {
  Process process(folder, program, arguments);
  if (!process.WaitForExit(limit)) {
    process.Signal(SIGKILL);
    process.WaitForExit(limit);
  }
  return {process.exit_code(), process.Output(), process.Errors()};
}

std::string HttpGet(int port, const std::string& path) {
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  timeval limit{.tv_sec = 10, .tv_usec = 0};
  setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  std::string answer;
  const std::string request =
      "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  if (connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
      send(descriptor, request.data(), request.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(request.size())) {
    char bytes[4096];
    for (ssize_t got; (got = recv(descriptor, bytes, sizeof(bytes), 0)) > 0;) {
      answer.append(bytes, static_cast<size_t>(got));
    }
  }
  close(descriptor);
  const size_t body = answer.find("\r\n\r\n");
  if (answer.find(" 200 ") > answer.find("\r\n") || body == std::string::npos) return "";
  return answer.substr(body + 4);
}

}  // namespace vixen::testing
