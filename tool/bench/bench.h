// SPDX-License-Identifier: Apache-2.0
// The measurements of `vixen bench`, each registered below the command.
#pragma once

#include "tool/command.h"

namespace vixen::tool {

void AddKernelBench(CLI::App& bench, Selected& selected);
void AddLearnerBench(CLI::App& bench, Selected& selected);
void AddLoopBench(CLI::App& bench, Selected& selected);
void AddReplayBench(CLI::App& bench, Selected& selected);
void AddStreamBench(CLI::App& bench, Selected& selected);

}  // namespace vixen::tool
