// SPDX-License-Identifier: Apache-2.0
// vixen bench: the measured figures of docs/performance.md.
#include "tool/bench/bench.h"

namespace vixen::tool {

void AddBench(CLI::App& app, Selected& selected) {
  CLI::App* bench = app.add_subcommand("bench", "measure a part, beside a limit in the same run");
  bench->require_subcommand(1);
  AddKernelBench(*bench, selected);
  AddLearnerBench(*bench, selected);
  AddLoopBench(*bench, selected);
  AddReplayBench(*bench, selected);
  AddStreamBench(*bench, selected);
}

}  // namespace vixen::tool
