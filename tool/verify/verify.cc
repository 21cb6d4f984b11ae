// SPDX-License-Identifier: Apache-2.0
#include "tool/verify/verify.h"

#include <filesystem>
#include <utility>
#include <vector>

#include "base/folder.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "base/tensor_file.h"
#include "kernels/verify/step_check.h"

namespace vixen::tool {
namespace {

enum class Outcome { kPassed, kFailed, kSkipped };

Outcome VerifyFile(const std::string& path, kernels::Precision precision,
                   const kernels::CollectorFactory& factory, std::ostream& out) {
  absl::StatusOr<base::TensorFile> file = base::TensorFile::Open(path);
  if (!file.ok()) {
    out << "FAILED " << base::ToStd(file.status().message()) << "\n";
    return Outcome::kFailed;
  }
  const std::string name = std::filesystem::path(path).filename().string();
  if (!kernels::IsGoldenCase(*file)) {
    out << "skipped " << name << ": no environment case\n";
    return Outcome::kSkipped;
  }
  absl::StatusOr<kernels::GoldenCase> golden = kernels::ReadGoldenCase(*std::move(file));
  if (!golden.ok()) {
    out << "FAILED " << base::ToStd(golden.status().message()) << "\n";
    return Outcome::kFailed;
  }
  golden->options.precision = precision;
  const auto report = [&](const auto& result) {
    if (!result.ok()) {
      out << "FAILED " << name << ": " << base::ToStd(result.status().message()) << "\n";
      return Outcome::kFailed;
    }
    out << (result->passed() ? "passed " : "FAILED ") << name << ": " << result->Describe() << "\n";
    return result->passed() ? Outcome::kPassed : Outcome::kFailed;
  };
  // Below fp32 one flipped action would hide the rest: row by row from the recorded states.
  if (precision == kernels::Precision::kTf32 || precision == kernels::Precision::kFp16) {
    return report(kernels::RunStepCheck(*golden, factory));
  }
  return report(kernels::RunGoldenCase(*golden, factory));
}

}  // namespace

absl::Status VerifyFolder(const std::string& folder, kernels::Precision precision,
                          const kernels::CollectorFactory& factory, std::ostream& out) {
  VIXEN_ASSIGN_OR_RETURN(const std::vector<std::string> files, base::TensorFilesIn(folder));
  int cases = 0;
  int failed = 0;
  for (const std::string& path : files) {
    const Outcome outcome = VerifyFile(path, precision, factory, out);
    cases += outcome != Outcome::kSkipped;
    failed += outcome == Outcome::kFailed;
  }
  if (cases == 0) return absl::NotFoundError(base::StrCat(folder, ": no golden case"));
  if (failed > 0) {
    return absl::InternalError(base::StrCat(failed, " of ", cases, " golden cases failed"));
  }
  return absl::OkStatus();
}

}  // namespace vixen::tool
