#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what a build and its tests need on Debian 12: packages by apt, LibTorch by pip's wheel.
# Does nothing when all is there. docs/dependencies.md says why each is needed.
source "$(dirname "$0")/common.sh"

packages=(
  ca-certificates git cmake ninja-build g++ ccache pkg-config python3 python3-venv curl
  libgrpc++-dev protobuf-compiler-grpc protobuf-compiler libprotobuf-dev libabsl-dev
  prometheus-cpp-dev libspdlog-dev libssl-dev zlib1g-dev libzstd-dev nlohmann-json3-dev libcli11-dev libgloo-dev
  libgtest-dev libgmock-dev libbenchmark-dev tzdata
)
[ -f "$VIXEN_ROOT/scripts/packages.extra" ] && mapfile -t -O "${#packages[@]}" packages < "$VIXEN_ROOT/scripts/packages.extra"
libtorch=()
for option in "$@"; do
  case "$option" in
    --lint) packages+=(clang-format-14 clang-tidy-14) ;;
    --deploy) packages+=(prometheus openssl zsh) ;;  # tests/deploy, the completion in zsh
    --torch_python) libtorch=(--python) ;;  # one download for scripts/python_env.sh as well
    *) die "unknown option $option; there are --lint, --deploy, --torch_python" ;;
  esac
done

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  say "Installing ${#missing[@]} packages: ${missing[*]}"
  command -v apt-get >/dev/null || die "these packages are missing and there is no apt-get here: ${missing[*]}"
  as_root=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || die "run as root or install sudo; missing: ${missing[*]}"
    as_root=(sudo)
  fi
  # Debian starts the services that it installs; the tests start Prometheus themselves.
  policy=/usr/sbin/policy-rc.d
  if [[ " ${missing[*]} " == *" prometheus "* ]] && [ ! -e $policy ]; then
    printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee $policy >/dev/null
    "${as_root[@]}" chmod 755 $policy
    trap '"${as_root[@]}" rm -f "$policy"' EXIT
  fi
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

"$VIXEN_ROOT/scripts/get_libtorch.sh" "${libtorch[@]}" "$VIXEN_LIBTORCH_ROOT"
