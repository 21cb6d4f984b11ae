#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the peers of bench/peers whose packages this machine's python3 has: the same collection as one JAX
# scan. Usage: scripts/bench-peers.sh [STEPS N…]
set -euo pipefail
cd "$(dirname "$0")/../bench/peers"
if python3 -c 'import jax' 2>/dev/null; then
  XLA_PYTHON_CLIENT_PREALLOCATE=false python3 jax_scan.py "$@"
else
  echo "skipped jax_scan.py: this python3 has no jax"
fi
