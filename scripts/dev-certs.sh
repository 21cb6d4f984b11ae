#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# dev-certs.sh FOLDER [HOST…]: a test authority and certificates for trying mTLS out, valid for 30 days;
# not for production. Leaves NAME.pem and NAME.key for
#   ca                     the authority
#   actor                  the server: localhost, 127.0.0.1, ::1 and the HOSTs
#   collect push admin     one role each
#   learner                collect and push
# --days N: other validity. --only NAME: makes NAME again with the authority that is there (a rotation).
source "$(dirname "$0")/common.sh"
days=30 only='' folder='' hosts=()
while [ $# -gt 0 ]; do
  case "$1" in
    --days|--only) [ $# -ge 2 ] || die "$1 needs a value"; printf -v "${1#--}" %s "$2"; shift 2 ;;
    -*) die "unknown option $1; there are --days, --only" ;;
    *) if [ -z "$folder" ]; then folder=$1; else hosts+=("$1"); fi; shift ;;
  esac
done
[ -n "$folder" ] || die "usage: dev-certs.sh [--days N] [--only NAME] FOLDER [HOST…]"
mkdir -p "$folder"
cd "$folder"
umask 077
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT

new_key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1" 2>/dev/null; }

# sign NAME USAGE SAN: replaces NAME.key and NAME.pem, each in one step.
sign() {
  new_key "$work/$1.key"
  openssl req -new -key "$work/$1.key" -subj "/O=vixen test/CN=$1" -out "$work/csr" 2>/dev/null
  printf 'basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\nextendedKeyUsage=%s\nsubjectAltName=%s\n' \
    "$2" "$3" > "$work/extensions"
  openssl x509 -req -in "$work/csr" -CA ca.pem -CAkey ca.key -days "$days" -extfile "$work/extensions" \
    -set_serial "0x$(openssl rand -hex 8)" -out "$work/$1.pem" 2>/dev/null
  mv "$work/$1.key" "$1.key"; mv "$work/$1.pem" "$1.pem"
}

make() {
  case "$1" in
    ca)
      new_key ca.key
      openssl req -x509 -new -key ca.key -subj "/O=vixen test/CN=test authority" -days "$days" \
        -addext 'basicConstraints=critical,CA:TRUE' -addext 'keyUsage=critical,keyCertSign' -out ca.pem 2>/dev/null ;;
    actor)
      names='DNS:localhost,IP:127.0.0.1,IP:::1'
      for host in "${hosts[@]}"; do
        if [[ $host =~ ^[0-9.]+$ || $host == *:* ]]; then names+=",IP:$host"; else names+=",DNS:$host"; fi
      done
      sign actor serverAuth "$names" ;;
    collect|push|admin) sign "$1" clientAuth "URI:vixen:$1" ;;
    learner) sign learner clientAuth 'URI:vixen:collect+push' ;;
    *) die "there is no certificate '$1'; there are ca, actor, collect, push, admin, learner" ;;
  esac
}

if [ -n "$only" ]; then
  [ "$only" = ca ] || [ -f ca.key ] || die "$folder has no authority: run without --only first"
  make "$only"
else
  for name in ca actor collect push admin learner; do make "$name"; done
fi
