// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/program.h"

#include <signal.h>

#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <utility>

namespace vixen::testing {

std::unique_ptr<base::ChildProcess> StartProgram(const std::string& folder,
                                                 const std::string& program,
                                                 const std::vector<std::string>& arguments) {
  const char* bin = std::getenv("VIXEN_BIN_DIR");
  if (bin == nullptr) throw std::runtime_error("VIXEN_BIN_DIR is not set");
  static std::atomic<int> count = 0;
  const std::string name = folder + "/" + program + "." + std::to_string(++count);
  auto started = base::ChildProcess::Start(std::string(bin) + "/" + program, arguments,
                                           name + ".out", name + ".err");
  if (!started.ok()) throw std::runtime_error(started.status().ToString());
  return *std::move(started);
}

ProgramResult RunProgram(const std::string& folder, const std::string& program,
                         const std::vector<std::string>& arguments, std::chrono::seconds limit) {
  const auto process = StartProgram(folder, program, arguments);
  if (!process->WaitForExit(limit)) {
    process->Signal(SIGKILL);
    process->WaitForExit(limit);
  }
  return {process->exit_code(), process->Output(), process->Errors()};
}

}  // namespace vixen::testing
