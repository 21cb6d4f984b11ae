// SPDX-License-Identifier: Apache-2.0
#include "tool/executor_flags.h"

#include <map>
#include <string>
#include <utility>

#include "base/exit_code.h"
#include "base/status_macros.h"
#include "base/str_cat.h"

namespace vixen::tool {
namespace {

template <typename Value>
void AddChoice(CLI::App& command, const std::string& name, Value& value,
               const std::map<std::string, Value>& choices, const std::string& help) {
  command.add_option(name, value, help)
      ->transform(CLI::CheckedTransformer(choices, CLI::ignore_case).description(""));
}

}  // namespace

void AddExecutorChoice(CLI::App& command, kernels::ExecutorWish& wish) {
  using kernels::ExecutorKind;
  AddChoice<ExecutorKind>(
      command, "--executor", wish.kind,
      {{"auto", ExecutorKind::kAuto}, {"cpu", ExecutorKind::kCpu}, {"cuda", ExecutorKind::kCuda}},
      "cpu, cuda, or auto: cuda where there is a GPU (cpu)");
  command.add_option("--gpu", wish.gpu, "which GPU, from 0 as CUDA counts (0)")
      ->check(CLI::Range(0, 127).description(""));
}

void ExecutorFlags::AddTo(CLI::App& command) {
  using kernels::CudaAlgorithm;
  using kernels::Precision;
  AddExecutorChoice(command, wish);
  AddChoice<CudaAlgorithm>(
      command, "--algorithm", wish.algorithm,
      {{"auto", CudaAlgorithm::kAuto},
       {"stepped", CudaAlgorithm::kStepped},
       {"tiled", CudaAlgorithm::kTiled},
       {"tiled_mma", CudaAlgorithm::kTiledMma},
       {"resident_single", CudaAlgorithm::kResidentSingle},
       {"resident", CudaAlgorithm::kResident}},
      "of the CUDA executor: auto, resident, resident_single, tiled, tiled_mma, stepped (auto)");
  AddChoice<Precision>(command, "--precision", precision,
                       {{"auto", Precision::kAuto},
                        {"fp32", Precision::kFp32},
                        {"tf32", Precision::kTf32},
                        {"fp16", Precision::kFp16}},
                       "of the matrix products: auto, fp32, tf32, fp16 (auto)");
  command.add_option("--threads", threads, "of the CPU executor; 0: all there are (0)")
      ->check(CLI::Range(0, 1024).description(""));
}

absl::StatusOr<kernels::ChosenExecutor> ExecutorFlags::Choose() const {
  VIXEN_ASSIGN_OR_RETURN(kernels::ChosenExecutor chosen, kernels::ChooseExecutor(wish));
  if (chosen.kind == kernels::ExecutorKind::kCpu &&
      (precision == kernels::Precision::kTf32 || precision == kernels::Precision::kFp16)) {
    return base::UsageError(base::StrCat("--precision ", kernels::PrecisionName(precision),
                                         " needs --executor cuda; the CPU executor computes fp32 (",
                                         chosen.reason, ")"));
  }
  chosen.make = [make = std::move(chosen.make),
                 count = threads](kernels::CollectorOptions options) {
    options.threads = count;
    return make(options);
  };
  return chosen;
}

}  // namespace vixen::tool
