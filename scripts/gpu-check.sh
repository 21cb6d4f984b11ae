#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a machine with a GPU runs before a release: the GPU tests, the sanitizers on small launches of each
# algorithm, the kernel figures. Usage: scripts/gpu-check.sh BUILD_FOLDER [RACE_CHECK_FOLDER]
# (configured with VIXEN_CUDA=ON, the second with VIXEN_RACE_CHECK=ON too: racecheck of the resident kernels)
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:?usage: scripts/gpu-check.sh BUILD_FOLDER [RACE_CHECK_FOLDER]}
race=${2:-}
export VIXEN_SOURCE_DIR=$PWD
test=$build/tests/cuda_executor_test
"$test" --gtest_brief=1
"$build/tests/lost_device_test" --gtest_brief=1
for name in device_updater_test device_ranks_test; do
  if [ -x "$build/tests/$name" ]; then
    "$build/tests/$name" --gtest_brief=1
  else
    echo "NOT RUN: $name is not in $build (without LibTorch there is no learner)"
  fi
done
if command -v compute-sanitizer >/dev/null; then
  check() { # TOOL TEST PATTERN
    compute-sanitizer --tool "$1" --error-exitcode 1 "$2" --gtest_brief=1 --gtest_filter="All/CudaVariant.RunsAFewSteps/$3"
  }
  for tool in memcheck synccheck initcheck; do
    check $tool "$test" 'tiled*'
    check $tool "$test" 'resident*'
  done
  check racecheck "$test" 'tiled*'
  if [ -n "$race" ]; then
    check racecheck "$race/tests/cuda_executor_test" 'resident*'
  else
    echo "NOT RUN: racecheck of the resident kernels (no RACE_CHECK_FOLDER)"
  fi
else
  echo "NOT RUN: compute-sanitizer is not on the PATH"
fi
"$build/bin/cuda_bench"
