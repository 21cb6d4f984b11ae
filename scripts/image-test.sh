#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the images of docker/Dockerfile with buildah, without a Docker engine or a registry, checks what
# is in them and runs them together on loopback with read-only root file systems as user 65532.
#   image-test.sh [--cuda] [--fresh]
#     --cuda: those with CUDA (actor-cuda, learner-cuda) instead of those without; on a machine without a
#             GPU they run on its processor. 2.3 GB to fetch, about 25 GB of disk.
#     --fresh: forgets base and layers of earlier runs
# Needs root. About 10 minutes from nothing on two free cores (50 on two that six others used); layers and compiled
# objects are kept in $VIXEN_CACHE and this machine's ccache for the next time.
# The base image is bootstrapped from the Debian mirror that this machine's apt is set up with.
source "$(dirname "$0")/common.sh"
fresh=no preset=release suffix='' tag=cpu
for option in "$@"; do
  case "$option" in
    --fresh) fresh=yes ;;
    --cuda) preset=cuda suffix=-cuda tag=cuda ;;
    *) die "unknown option $option; there are --cuda and --fresh" ;;
  esac
done
[ "$(id -u)" = 0 ] || die "needs root: it bootstraps a Debian and mounts images"
started=$SECONDS
lap() { say "$* ($((SECONDS - started)) s so far)"; }

missing=()
for package in buildah debootstrap; do command -v $package >/dev/null || missing+=("$package"); done
if [ ${#missing[@]} -gt 0 ]; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

store="$VIXEN_CACHE/images"
[ $fresh = no ] || rm -rf "$store"
mkdir -p "$store"
work=$(mktemp -d)
pids=() containers=()
driver=overlay
images() { buildah --root "$store/root" --runroot "$work/run" --storage-driver $driver "$@"; }
if ! { probe=$(images from scratch) && images mount "$probe"; } >/dev/null 2>&1; then driver=vfs; fi
finish() {
  local pid container
  for pid in "${pids[@]}"; do kill -KILL "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  for container in "${containers[@]}"; do images rm "$container" >/dev/null 2>&1 || true; done
  [ -z "${probe:-}" ] || images rm "$probe" >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap finish EXIT

base=localhost/debian:bookworm-slim
if ! images inspect --type image $base >/dev/null 2>&1; then
  lap "Base image: a minimal Debian 12"
  mirror=$(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' | awk '$1 == "bookworm" { print $2; exit }')
  [ -n "$mirror" ] || die "apt on this machine has no source of Debian 12 (bookworm)"
  debootstrap --variant=minbase --include=ca-certificates bookworm "$work/base" "$mirror" >"$work/log" 2>&1 || { tail -n 20 "$work/log"; die "debootstrap failed"; }
  rm -rf "$work"/base/var/cache/apt/* "$work"/base/var/lib/apt/lists/* "$work"/base/usr/share/{man,locale}/* "$work/base/etc/resolv.conf"
  find "$work/base/usr/share/doc" -type f ! -name copyright -delete
  : > "$work/base/etc/apt/sources.list"
  for source in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list; do
    [ ! -s $source ] || cp $source "$work/base$source"
  done
  container=$(images from scratch)
  images add -q "$container" "$work/base" / >/dev/null
  images commit -q "$container" $base >/dev/null
  images rm "$container" >/dev/null
  rm -rf "$work/base"
fi

lap "Images"
mkdir "$work/context"
(cd "$VIXEN_ROOT" && git ls-files -z | tar -c --null -T - | tar -x -C "$work/context")
ccache=$(CCACHE_DIR="${CCACHE_DIR:-}" ccache -k cache_dir 2>/dev/null || echo "$store/ccache")
mkdir -p "$ccache"
mounts=(-v "$ccache:/ccache:rw" -v /etc/ssl/certs:/etc/ssl/certs:ro)
[ ! -f /etc/pip.conf ] || mounts+=(-v /etc/pip.conf:/etc/pip.conf:ro)
revision=$(git -C "$VIXEN_ROOT" rev-parse --short HEAD)
for name in actor learner tool; do
  target=$name
  [ $name = tool ] || target=$name$suffix
  nice buildah --root "$store/root" --runroot "$work/run" --storage-driver $driver bud --layers --isolation chroot --pull-never \
    "${mounts[@]}" --build-arg "DEBIAN=$base" --build-arg "REVISION=$revision" --build-arg "PRESET=$preset" \
    --ignorefile "$VIXEN_ROOT/docker/Dockerfile.dockerignore" -f "$VIXEN_ROOT/docker/Dockerfile" \
    --target "$target" -t "localhost/vixen/$name:$tag" "$work/context" >"$work/log" 2>&1 \
    || { tail -n 40 "$work/log"; die "building the image $target failed"; }
  lap "  $target built"
done

declare -A mount environment
field() { images inspect --type image --format "{{$2}}" "localhost/vixen/$1:$tag"; }
expect() { [ "$2" = "$3" ] || die "$1 is '$2', not '$3'"; }
say "Contents"
for target in actor learner tool; do
  containers+=("$(images from --pull-never "localhost/vixen/$target:$tag")")
  mount[$target]=$(images mount "${containers[-1]}")
  root=${mount[$target]}
  expect "user of $target" "$(field $target .OCIv1.Config.User)" 65532:65532
  expect "stop signal of $target" "$(field $target .OCIv1.Config.StopSignal)" SIGTERM
  expect "revision label of $target" "$(field $target 'index .OCIv1.Config.Labels "org.opencontainers.image.revision"')" "$revision"
  environment[$target]=$(images inspect --type image --format '{{range .OCIv1.Config.Env}}{{.}} {{end}}' "localhost/vixen/$target:$tag")
  [[ ${environment[$target]} != *NVIDIA_VISIBLE_DEVICES* ]] || die "$target asks for GPUs by NVIDIA_VISIBLE_DEVICES"
  for tool in gcc g++ cc c++ clang nvcc cmake ninja make ld as pip git; do
    [ -z "$(find "$root"/usr/bin "$root"/usr/local/bin "$root"/opt -name "$tool" -o -name "$tool-[0-9]*" 2>/dev/null)" ] || die "$target contains $tool"
  done
  [ -z "$(find "$root" -xdev -perm /6000 -user 65532 2>/dev/null)" ] || die "$target has setuid files of its user"
  [ -s "$root/usr/share/doc/vixen/packages.tsv" ] || die "$target has no list of packages"
  printf '%-8s %5s MiB, %s packages\n' $target "$(du -sxm "$root" | cut -f1)" "$(wc -l < "$root/usr/share/doc/vixen/packages.tsv")"
done
[ -z "$(find "${mount[actor]}" "${mount[tool]}" -name 'libtorch*' -o -name 'libc10*')" ] || die "LibTorch is in an image other than the learner's"
if [ $tag = cuda ]; then
  [ -n "$(find "${mount[learner]}" -name libtorch_cuda.so)" ] || die "the learner's image lacks LibTorch's CUDA library"
  [ -z "$(find "${mount[actor]}" -name 'libcudart.so*' -o -name 'libcublas*')" ] || die "the actor's image holds CUDA's shared libraries"
fi

# inside IMAGE PROGRAM ARGUMENT…: as a container runtime would: root read-only, the image's user and
# environment, /tmp and the two volumes writable.
mkdir -p "$work/data" "$work/state"
chown 65532:65532 "$work/data" "$work/state"
inside() {
  local image=$1; shift
  # shellcheck disable=SC2016,SC2086  # expanded by the inner shell; a list of NAME=VALUE
  exec unshare --mount env -i ${environment[$image]} ROOT="${mount[$image]}" WORK="$work" sh -c '
    set -e
    mount --bind "$ROOT" "$ROOT" && mount -o remount,ro,bind "$ROOT"
    mount -t proc proc "$ROOT/proc" && mount -t tmpfs tmpfs "$ROOT/tmp" && mount --rbind /dev "$ROOT/dev"
    mount --bind "$WORK/data" "$ROOT/data" && mount --bind "$WORK/state" "$ROOT/var/lib/vixen"
    exec chroot --userspec=65532:65532 "$ROOT" "$@"' sh "$@"
}
lap "Running"
if (inside actor /bin/sh -c 'echo x > /etc/x') 2>/dev/null; then die "the root file system is writable in this test"; fi
(inside tool /usr/bin/vixen synth b2 --bars 4000 --seed 3 --out /data/b2.safetensors >/dev/null) || die "the tool made no dataset"
(inside actor /usr/bin/vixen-actor --dataset /data/b2.safetensors --listen 127.0.0.1:0 --metrics_listen 127.0.0.1:0 \
  --health_listen 127.0.0.1:0 --episodes 16 --steps 32 --threads 1 --log_format json --port_file /var/lib/vixen/actor.ports >"$work/actor.log" 2>&1) &
pids+=($!); actor=$!
for _ in $(seq 300); do
  [ -s "$work/state/actor.ports" ] && break
  kill -0 "$actor" 2>/dev/null || { cat "$work/actor.log"; die "the actor ended at its start"; }
  sleep 0.1
done
port=$(head -n 1 "$work/state/actor.ports" 2>/dev/null) || die "the actor did not serve within 30 s"
grep -m 1 -o '"msg":"executor [^"]*' "$work/actor.log" || grep -m 1 'executor ' "$work/actor.log" || true
(inside learner /usr/bin/vixen-learner --actor "127.0.0.1:$port" --metrics_listen 127.0.0.1:0 --out /var/lib/vixen/run \
  --capacity 20000 --min_size 512 --batch_size 64 --torch_threads 1 --max_updates 200 >"$work/learner.log" 2>&1) || { tail -n 20 "$work/learner.log"; die "the learner failed"; }
(inside tool /usr/bin/vixen inspect --actor "127.0.0.1:$port" --json >"$work/inspect.json") || die "the tool cannot inspect the actor"
(inside tool /usr/bin/vixen eval --data /data/b2.safetensors --weights /var/lib/vixen/run/weights.safetensors --out /var/lib/vixen/eval.json >/dev/null) || die "the tool cannot evaluate the weights"
[ "$(stat -c %u "$work/state/run/weights.safetensors")" = 65532 ] || die "the learner did not run as user 65532"
# The subshell became the program: a signal reaches it, as it would as process 1 of a container.
kill -TERM "$actor"
code=0; wait "$actor" || code=$?
[ $code = 0 ] || { tail -n 20 "$work/actor.log"; die "the actor ended with $code on SIGTERM"; }
pids=()
grep -q '"stopped"' "$work/actor.log" || grep -q stopped "$work/actor.log" || die "the actor's log does not end in order"
lap "Images built, checked and run"
