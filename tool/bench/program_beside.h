// SPDX-License-Identifier: Apache-2.0
// Programs that lie beside this one.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace vixen::tool {

// The path of a program beside this one. NOT_FOUND naming it, and how it is built.
absl::StatusOr<std::string> ProgramBeside(const std::string& name);

// The flags that were given to a command, as arguments again.
std::vector<std::string> GivenArguments(const CLI::App& command);

// This process becomes that program: its output and its exit code are the command's. Comes back
// only with an error.
absl::Status BecomeProgram(const std::string& path, std::vector<std::string> arguments);

}  // namespace vixen::tool
