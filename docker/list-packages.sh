#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes /usr/share/doc/vixen/packages.tsv in an image: name, version, kind of every package in it, for
# those who check licences and vulnerabilities without a scanner. Scanners read the same databases.
set -eu
{
  dpkg-query -W -f '${Package}\t${Version}\tdeb\n'
  find /opt/vixen -name METADATA -path '*.dist-info/*' 2>/dev/null | while read -r file; do
    awk -F': ' '/^Name: /{name=$2} /^Version: /{version=$2} /^$/{exit} END{print name "\t" version "\twheel"}' "$file"
  done
} > /usr/share/doc/vixen/packages.tsv
