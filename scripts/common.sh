# SPDX-License-Identifier: Apache-2.0
# Sourced by the other scripts: folders, messages, compiler cache.
set -euo pipefail
VIXEN_ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
VIXEN_CACHE="${VIXEN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vixen}"
export VIXEN_LIBTORCH_ROOT="${VIXEN_LIBTORCH_ROOT:-$VIXEN_CACHE/libtorch-2.11.0}"
# So that a second clone in another folder finds the first one's objects.
export CCACHE_BASEDIR="$VIXEN_ROOT" CCACHE_NOHASHDIR=1

# Of this machine's Python, as wheels are named after it: cp311.
python_tag() { python3 -c 'import sys; print("cp%d%d" % sys.version_info[:2])'; }
say() { printf '\n== %s\n' "$*"; }
die() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }
