#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the peers of bench/peers whose packages this machine's python3 has: the same collection as one JAX
# scan, and as a PyTorch loop, eager and as a CUDA graph a step. Usage: scripts/bench-peers.sh [STEPS N…]
set -euo pipefail
cd "$(dirname "$0")/../bench/peers"
if python3 -c 'import jax' 2>/dev/null; then
  XLA_PYTHON_CLIENT_PREALLOCATE=false python3 jax_scan.py "$@"
else
  echo "skipped jax_scan.py: this python3 has no jax"
fi
if python3 -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
  python3 torch_loop.py "$@"
else
  echo "skipped torch_loop.py: this python3 has no torch with a GPU"
fi
