// SPDX-License-Identifier: Apache-2.0
// vixen verify: golden cases on this machine's processor.
#include <iostream>
#include <map>
#include <memory>
#include <string>

#include "base/exit_code.h"
#include "tool/command.h"
#include "tool/verify/verify.h"
#if defined(VIXEN_WITH_CUDA)
#include "kernels/collect/cuda_collector.h"
#include "kernels/collect/cuda_executor.h"
#endif

namespace vixen::tool {
namespace {

struct VerifyFlags {
  std::string golden;
  std::string executor = "cpu";
  kernels::Precision precision = kernels::Precision::kAuto;
};

#if defined(VIXEN_WITH_CUDA)
absl::Status VerifyOnCuda(const VerifyFlags& flags) {
  // `auto` is fp16 on a GPU, which golden weights fit.
  const kernels::Precision precision =
      flags.precision == kernels::Precision::kAuto ? kernels::Precision::kFp16 : flags.precision;
  return VerifyFolder(
      flags.golden, precision,
      [](const kernels::CollectorOptions& options) {
        return kernels::MakeCudaCollector(options, 0, kernels::CudaAlgorithm::kAuto);
      },
      std::cout);
}
#else
absl::Status VerifyOnCuda(const VerifyFlags&) {
  return absl::FailedPreconditionError(
      "--executor cuda: this vixen was built without CUDA (preset cuda has it)");
}
#endif

absl::Status RunVerify(const VerifyFlags& flags) {
  if (flags.executor == "cuda") return VerifyOnCuda(flags);
  if (flags.precision != kernels::Precision::kAuto &&
      flags.precision != kernels::Precision::kFp32) {
    return base::UsageError(
        "--precision: the CPU executor computes fp32; tf32 and fp16 need "
        "--executor cuda");
  }
  return VerifyFolder(flags.golden, flags.precision, kernels::MakeCpuCollector, std::cout);
}

}  // namespace

void AddVerify(CLI::App& app, Selected& selected) {
  auto flags = std::make_shared<VerifyFlags>();
  CLI::App* command =
      app.add_subcommand("verify", "replay golden cases on this machine's processor");
  command->add_option("--golden", flags->golden, "folder with the cases")->required();
  command->add_option("--executor", flags->executor, "cpu or cuda")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  const std::map<std::string, kernels::Precision> precisions = {
      {"auto", kernels::Precision::kAuto},
      {"fp32", kernels::Precision::kFp32},
      {"tf32", kernels::Precision::kTf32},
      {"fp16", kernels::Precision::kFp16}};
  command->add_option("--precision", flags->precision, "of the matrix products: fp32, tf32, fp16")
      ->transform(CLI::CheckedTransformer(precisions).description(""));
  command->callback([flags, &selected] { selected = [flags] { return RunVerify(*flags); }; });
}

}  // namespace vixen::tool
