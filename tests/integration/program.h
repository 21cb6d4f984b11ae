// SPDX-License-Identifier: Apache-2.0
// Starts the real binaries of VIXEN_BIN_DIR and looks at how they end.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/child_process.h"

namespace vixen::testing {

// What a program left when it had ended.
struct ProgramResult {
  int exit_code = -1;  // −signal when a signal ended it
  std::string output;
  std::string errors;
};

// `program` is a name in VIXEN_BIN_DIR. Its files are made in `folder`.
std::unique_ptr<base::ChildProcess> StartProgram(const std::string& folder,
                                                 const std::string& program,
                                                 const std::vector<std::string>& arguments);

// Runs a program to its end; killed after `limit` (exit code −9 then).
ProgramResult RunProgram(const std::string& folder, const std::string& program,
                         const std::vector<std::string>& arguments,
                         std::chrono::seconds limit = std::chrono::seconds(120));

}  // namespace vixen::testing
