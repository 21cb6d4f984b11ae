// SPDX-License-Identifier: Apache-2.0
// vixen bench learner: updates a second of replay and trainer. LibTorch belongs to the learner
// alone, so the command becomes a program beside this one (bench/learner/learner_bench.cc).
#include <memory>
#include <string>

#include "base/status_macros.h"
#include "bench/learner/learner_bench_flags.h"
#include "tool/bench/bench.h"
#include "tool/bench/program_beside.h"

namespace vixen::tool {

void AddLearnerBench(CLI::App& bench, Selected& selected) {
  auto flags = std::make_shared<bench::LearnerBenchFlags>();
  CLI::App* command =
      bench.add_subcommand("learner", "updates of the learner's replay and trainer");
  flags->AddTo(*command);
  command->callback([flags, command, &selected] {
    selected = [command]() -> absl::Status {
      VIXEN_ASSIGN_OR_RETURN(const std::string program, ProgramBeside("learner_bench"));
      return BecomeProgram(program, GivenArguments(*command));
    };
  });
}

}  // namespace vixen::tool
