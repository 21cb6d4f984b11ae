#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a machine with a GPU runs before a release: the GPU tests, the sanitizers on small launches of each
# algorithm, the kernel figures. Usage: scripts/gpu-check.sh BUILD_FOLDER (configured with VIXEN_CUDA=ON)
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:?usage: scripts/gpu-check.sh BUILD_FOLDER}
export VIXEN_SOURCE_DIR=$PWD
test=$build/tests/cuda_executor_test
"$test" --gtest_brief=1
"$build/tests/lost_device_test" --gtest_brief=1
if command -v compute-sanitizer >/dev/null; then
  for tool in memcheck synccheck racecheck initcheck; do
    compute-sanitizer --tool $tool --error-exitcode 1 "$test" \
      --gtest_brief=1 --gtest_filter='All/CudaVariant.RunsAFewSteps/tiled*:All/CudaVariant.RunsAFewSteps/resident*'
  done
fi
"$build/bin/cuda_bench"
