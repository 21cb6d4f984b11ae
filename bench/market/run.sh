#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh [BARS] [ROUNDS]: imports BARS (default 10000000) one-minute bars from CSV and DBN, by turns with pandas + numpy and the package
# databento-dbn. Needs build/release/bin/import_bench and space for about 100 bytes a bar of input and 230 of output.
source "$(dirname "$0")/../../scripts/common.sh"
bars=${1:-10000000} rounds=${2:-3}
work=$(mktemp -d "${TMPDIR:-/tmp}/import-bench.XXXXXX"); trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/python"
"$work/python/bin/pip" install -q --only-binary=:all: numpy==2.2.6 pandas==2.2.3 databento-dbn==0.72.0
python="$work/python/bin/python3" bench="$VIXEN_ROOT/build/release/bin/import_bench"
"$python" "$VIXEN_ROOT/bench/market/make_bars.py" "$work/bars.csv" "$work/bars.dbn" "$bars"
for _ in $(seq "$rounds"); do
  "$bench" import csv "$work/bars.csv" "$work/out.safetensors"
  "$python" "$VIXEN_ROOT/bench/market/pandas_peer.py" "$work/bars.csv"
  "$bench" read dbn "$work/bars.dbn"
  "$python" "$VIXEN_ROOT/bench/market/dbn_peer.py" "$work/bars.dbn"
  "$bench" import dbn "$work/bars.dbn" "$work/out.safetensors"
done
