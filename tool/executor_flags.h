// SPDX-License-Identifier: Apache-2.0
// --executor, --gpu, --algorithm, --precision and --threads of the commands that run launches
// themselves.
#pragma once

#include <CLI/CLI.hpp>

#include "absl/status/statusor.h"
#include "kernels/executors/choose_executor.h"

namespace vixen::tool {

// --executor and --gpu. `wish` must outlive `command`.
void AddExecutorChoice(CLI::App& command, kernels::ExecutorWish& wish);

struct ExecutorFlags {
  kernels::ExecutorWish wish = {.kind = kernels::ExecutorKind::kCpu};
  kernels::Precision precision = kernels::Precision::kAuto;
  int threads = 0;  // CPU: 0 = all that the machine allows

  // `this` must outlive `command`.
  void AddTo(CLI::App& command);
  // kernels::ChooseExecutor for `wish`; what it makes uses `threads`. Usage error for a precision
  // that the chosen executor does not have.
  absl::StatusOr<kernels::ChosenExecutor> Choose() const;
};

}  // namespace vixen::tool
