// SPDX-License-Identifier: Apache-2.0
#include "tool/bench/program_beside.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/file.h"
#include "base/str_cat.h"

namespace vixen::tool {

absl::StatusOr<std::string> ProgramBeside(const std::string& name) {
  std::error_code error;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string path = (own.parent_path() / name).string();
  if (!error && access(path.c_str(), X_OK) == 0) return path;
  return absl::NotFoundError(base::StrCat(
      path, " is missing: scripts/build.sh makes it beside vixen (a build with LibTorch)"));
}

std::vector<std::string> GivenArguments(const CLI::App& command) {
  std::vector<std::string> arguments;
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0) continue;
    arguments.push_back(base::StrCat("--", option->get_lnames().front()));
    for (const std::string& value : option->results()) arguments.push_back(value);
  }
  return arguments;
}

absl::Status BecomeProgram(const std::string& path, std::vector<std::string> arguments) {
  std::string program = path;
  std::vector<char*> argv = {program.data()};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  execv(path.c_str(), argv.data());
  return base::ErrnoToStatus(errno, "start", path);
}

}  // namespace vixen::tool
