#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: tools/deps.sh [--check] PACKAGE...
#
# Installs those of the named Debian packages that are missing. Needs root (or sudo) only when some are. With --check it
# installs nothing: it names them and the command that installs them, and fails.
set -eu

check=
if [ "${1-}" = --check ]; then
  check=1
  shift
fi

command -v dpkg-query >/dev/null || {
  echo "deps: not a Debian machine; the build needs the equivalents of: $*" >&2
  exit 0
}
missing=
for p in "$@"; do
  dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing="$missing $p"
done
[ -n "$missing" ] || exit 0

if [ -n "$check" ]; then
  echo "missing packages:$missing" >&2
  echo "install them with: make deps, or as root: apt-get install --no-install-recommends$missing" >&2
  exit 1
fi

as_root=
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || {
    echo "deps: as root, run: apt-get install$missing" >&2
    exit 1
  }
  as_root=sudo
fi
echo "  DEPS    apt-get installs, which takes some minutes:$missing"
export DEBIAN_FRONTEND=noninteractive
# Word splitting is meant: $missing is a list.
# shellcheck disable=SC2086
$as_root apt-get install -y --no-install-recommends $missing >/dev/null 2>&1 || {
  $as_root apt-get update >/dev/null
  $as_root apt-get install -y --no-install-recommends $missing >/dev/null
}
