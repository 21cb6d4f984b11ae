#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# collect.sh BIN OUT: in the build stage, lays out what each image gets as OUT/{actor,learner,tool}.
source "$(dirname "$0")/../scripts/common.sh"
[ $# = 2 ] || die "usage: collect.sh BIN OUT"
bin=$1 out=$2

# image NAME PROGRAM: the stripped program, and the script that writes the image's list of packages.
image() {
  install -D -s "$bin/$2" "$out/$1/usr/bin/$2"
  install -D -m 755 "$VIXEN_ROOT/docker/list-packages.sh" "$out/$1/usr/share/doc/vixen/list-packages.sh"
}
image actor vixen-actor
image learner vixen-learner
image tool vixen

# The libraries find each other by the wheels' own layout; the licences go with them.
torch="$out/learner/opt/vixen/libtorch"
install -d "$torch/torch/lib" "$torch/nvidia/cu13/lib"
cp -a "$VIXEN_LIBTORCH_ROOT"/torch/lib/{libtorch_cpu,libc10}.so "$torch/torch/lib/"
cp -a "$VIXEN_LIBTORCH_ROOT"/nvidia/cu13/lib/lib{cudart,cupti}.so.13 "$torch/nvidia/cu13/lib/"
cp -a "$VIXEN_LIBTORCH_ROOT"/*.dist-info "$torch/"
