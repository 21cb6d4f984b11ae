#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds, and passes all tests. --quick leaves out lint, CUDA compilation and
# the sanitizer build.
source "$(dirname "$0")/common.sh"
quick=no
case "${1:-}" in
  --quick) quick=yes ;;
  "") ;;
  *) die "unknown option $1; there is only --quick" ;;
esac
started=$SECONDS
lap() { say "$* ($((SECONDS - started)) s so far)"; }

"$VIXEN_ROOT/scripts/install_deps.sh" --deploy --torch_python
"$VIXEN_ROOT/scripts/get_kubectl.sh" >/dev/null
if [ $quick = no ]; then
  "$VIXEN_ROOT/scripts/install_deps.sh" --lint
  lap "Format"
  "$VIXEN_ROOT/scripts/lint.sh" --format
fi
lap "Release build"
"$VIXEN_ROOT/scripts/build.sh" release all
lap "Tests"
cd "$VIXEN_ROOT"
# Without the package the comparison with it is skipped and says so.
metrics_python=$(scripts/python_env.sh metrics || true)
cmake --preset release -DVIXEN_METRICS_PYTHON="$metrics_python" -DVIXEN_PYTHON="$(scripts/python_env.sh)" -DVIXEN_DEPLOY_PYTHON="$(scripts/python_env.sh deploy)" >/dev/null
ctest --preset release
if [ $quick = no ]; then
  lap "clang-tidy"
  "$VIXEN_ROOT/scripts/lint.sh" --tidy
  if command -v nvcc >/dev/null || [ -x /usr/local/cuda/bin/nvcc ]; then
    lap "CUDA: compilation for every architecture, host tests"
    "$VIXEN_ROOT/scripts/build.sh" cuda cuda_host_tests
    ctest --preset cuda -L cuda_host
  else
    say "CUDA compilation skipped: there is no nvcc on this machine"
  fi
  lap "Address and undefined-behaviour sanitizers"
  "$VIXEN_ROOT/scripts/sanitize.sh" asan
  lap "Thread sanitizer"
  "$VIXEN_ROOT/scripts/sanitize.sh" tsan
fi
lap "All tests passed"
