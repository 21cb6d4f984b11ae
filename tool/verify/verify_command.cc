// SPDX-License-Identifier: Apache-2.0
// vixen verify: golden cases on this machine's processor.
#include <iostream>
#include <memory>
#include <string>

#include "base/status_macros.h"
#include "tool/command.h"
#include "tool/executor_flags.h"
#include "tool/verify/verify.h"

namespace vixen::tool {
namespace {

struct VerifyFlags {
  std::string golden;
  ExecutorFlags executor;
};

absl::Status RunVerify(const VerifyFlags& flags) {
  VIXEN_ASSIGN_OR_RETURN(const kernels::ChosenExecutor chosen, flags.executor.Choose());
  kernels::Precision precision = flags.executor.precision;
  // `auto` is fp16 on a GPU, which golden weights fit.
  if (chosen.kind == kernels::ExecutorKind::kCuda && precision == kernels::Precision::kAuto) {
    precision = kernels::Precision::kFp16;
  }
  return VerifyFolder(flags.golden, precision, chosen.make, std::cout);
}

}  // namespace

void AddVerify(CLI::App& app, Selected& selected) {
  auto flags = std::make_shared<VerifyFlags>();
  CLI::App* command =
      app.add_subcommand("verify", "replay golden cases on this machine's processor");
  command->add_option("--golden", flags->golden, "folder with the cases")->required();
  flags->executor.AddTo(*command);
  command->callback([flags, &selected] { selected = [flags] { return RunVerify(*flags); }; });
}

}  // namespace vixen::tool
