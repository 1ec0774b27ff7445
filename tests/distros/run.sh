#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: tests/distros/run.sh [12|13|sid]... [-- COMMAND [ARGUMENT...]]        all three without a list
#
# Builds and tests the last commit in a clean chroot of each Debian release: make demo, make check, make static. COMMAND replaces
# these; one word is a shell line:
#
#     tests/distros/run.sh 13 -- 'make deps programs tests && BUILD=build tests/root/test_record.sh'
#
# With DEBS=DIR the directory is /debs there, for packages: the first line makes them, the second installs, uses and purges
# them in a chroot that has nothing else (tests/distros/installed.sh).
#
#     DEBS=/tmp/debs tests/distros/run.sh 13 -- 'make deb && cp build/deb/*.deb /debs'
#     DEBS=/tmp/debs tests/distros/run.sh 13 -- tests/distros/installed.sh /debs
#
# Each chroot is made by debootstrap from the mirror that this machine uses, in a temporary directory (TMPDIR; 3 GB, in memory
# where 8 GB are free), and removed again. The kernel is this machine's, with its /proc, /sys, /dev and tracefs, so root tests run there as well. All
# mounts are made in a private mount namespace and end with this script. The interop tests run if this machine has node
# and the peers already (tests/interop/peers.sh). OTHER_TESTS is for tests/run.sh there.
#
# Exit codes: 0 all good, 1 one failed, 77 it cannot run here (the reason on stderr).
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

. "$root/tests/kernels/debian.sh"
give_up() { # REASON
  echo "distros: $*" >&2
  exit 77
}

releases=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  case $1 in
  12 | 13 | sid) releases+=("$1") ;;
  *) sed -n '/^# usage/,/^set -u/{/^#/s/^# \{0,1\}//p}' "$0" >&2; exit 2 ;;
  esac
  shift
done
[ ${#releases[@]} -gt 0 ] || releases=(12 13 sid)

[ "$(id -u)" = 0 ] || give_up "a chroot needs root"
PATH=$PATH:/usr/sbin:/sbin
command -v debootstrap >/dev/null || give_up "debootstrap is missing (apt-get install debootstrap)"
if [ -z "${SONDA_DISTROS_NAMESPACE:-}" ]; then
  SONDA_DISTROS_NAMESPACE=1 exec unshare --mount --propagation private "$0" "${releases[@]}" "$@"
fi
unset SONDA_DISTROS_NAMESPACE
case $# in
0 | 1) command='make demo && make check && make static && BUILD=build tests/root/test_static.sh' ;;
2) command=$2 ;;
*) command=$(printf '%q ' "${@:2}") ;;
esac
mirror=$(debian_mirror)
[ -n "$mirror" ] || give_up "no Debian mirror in /etc/apt"
mount -t tracefs none /sys/kernel/tracing 2>/dev/null || [ -e /sys/kernel/tracing/trace ] || give_up "no tracefs here"

tmp=$(mktemp -d)
[ "$(awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo)" -lt 8000000 ] || mount -t tmpfs -o size=6g none "$tmp"
job=
unmount() { # DIR: what is mounted there and below
  grep -oE " $1(/[^ ]*)? " /proc/self/mounts | sort -r | xargs -r umount -l
}
leave() {
  [ -z "$job" ] || { kill -TERM -- "-$job"; wait "$job"; } 2>/dev/null
  # Nothing below a mount may be removed.
  unmount "$tmp"
  rm -rf --one-file-system "$tmp"
}
trap '[ "$BASHPID" != $$ ] || leave' EXIT
trap 'exit 130' INT TERM HUP

make_chroot() { # RELEASE DIR
  local suite place
  case $1 in 12) suite=bookworm ;; 13) suite=trixie ;; *) suite=sid ;; esac
  debootstrap --variant=minbase --include="make,git,ca-certificates${peers:+,nodejs}" "$suite" "$2" "$mirror" ||
    return
  # unshare(1) changes how the mounts of "/" propagate, which has to be a mount.
  mount --bind "$2" "$2" || return
  cp /etc/resolv.conf "$2/etc/resolv.conf"
  printf '%s localhost\n' 127.0.0.1 ::1 >"$2/etc/hosts" # as Debian's installer writes it
  echo force-unsafe-io >"$2/etc/dpkg/dpkg.cfg.d/unsafe-io"
  for place in proc sys dev; do
    mount --rbind "/$place" "$2/$place" || return
  done
  mount -t tmpfs none "$2/run" || return
  # A mirror may be behind.
  echo 'Acquire::Check-Valid-Until "false";' >"$2/etc/apt/apt.conf.d/90valid-until"
  if [ -n "${DEBS:-}" ]; then
    mkdir "$2/debs" && mount --bind "$DEBS" "$2/debs" || return
  fi
  if [ -n "$peers" ]; then
    mkdir "$2/peers" && mount --bind "$peers" "$2/peers" || return
  fi
  git clone --quiet --no-hardlinks "file://$root" "$2/sonda"
}

# In a process group of its own, so that all of it can be ended.
in_chroot() { # DIR
  setsid --wait env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C \
    ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} ${peers:+PEER_DIR=/peers} \
    ${OTHER_TESTS:+OTHER_TESTS="$OTHER_TESTS"} \
    chroot "$1" bash -c "cd /sonda && $command" </dev/null &
  job=$!
  wait $job
  local status=$?
  job=
  return $status
}

peers=${PEER_DIR:-${TMPDIR:-/tmp}/peers}
{ command -v node && [ -x "$peers/run" ] && [ -d "$peers/tp" ]; } >/dev/null || peers=
failed=()
for release in "${releases[@]}"; do
  echo "== Debian $release"
  if ! make_chroot "$release" "$tmp/$release" >"$tmp/log" 2>&1; then
    tail -n 20 "$tmp/log" | sed 's/^/   /'
    failed+=("$release (no chroot)")
  else
    in_chroot "$tmp/$release" || failed+=("$release (exit $?)")
  fi
  unmount "$tmp/$release"
  rm -rf --one-file-system "${tmp:?}/$release"
done
if [ ${#failed[@]} = 0 ]; then
  echo "Debian ${releases[*]}: good"
else
  printf 'Debian %s\n' "${failed[@]/%/ FAILED}"
  exit 1
fi
