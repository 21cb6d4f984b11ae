// SPDX-License-Identifier: Apache-2.0
// Every golden case in VIXEN_GOLDEN_DIR (default: tests/golden of the source tree) on the CPU
// executor.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/tensor_file.h"
#include "kernels/verify/golden_case.h"
#include "tests/golden/golden_folder.h"

namespace vixen::kernels {
namespace {

std::vector<std::string> GoldenFiles() {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(GoldenFolder(), error)) {
    if (entry.path().extension() == ".safetensors") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

TEST(GoldenCases, PassOnTheCpuExecutorInFp32) {
  int cases = 0;
  for (const std::string& path : GoldenFiles()) {
    SCOPED_TRACE(path);
    absl::StatusOr<base::TensorFile> file = base::TensorFile::Open(path);
    ASSERT_TRUE(file.ok()) << file.status();
    if (!IsGoldenCase(*file)) continue;
    const absl::StatusOr<GoldenCase> golden = ReadGoldenCase(*std::move(file));
    ASSERT_TRUE(golden.ok()) << golden.status();
    const absl::StatusOr<GoldenResult> result = RunGoldenCase(*golden, MakeCpuCollector);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_GT(result->valid_rows, 0u);
    EXPECT_TRUE(result->passed()) << result->Describe();
    cases += 1;
  }
  EXPECT_GT(cases, 0) << "no golden case in " << GoldenFolder();
}

}  // namespace
}  // namespace vixen::kernels
