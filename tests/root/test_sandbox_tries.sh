#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: newest
#
# tracefs: shared
#
# What an attacker who controls a process of ours could do: each process tries it when it waits for work
# (tests/system/preload/sandbox_tries.c). /proc has no entry for Landlock: EACCES is from Landlock, since the permissions
# of the file and of its directory allow everything, and EPERM is from the filter of system calls.
. "$(dirname "$0")/lib.sh"
tries=$B/tests/system/preload/sandbox_tries.so
needs_built "$tries"
! nm -D "$BIN/sondad" 2>/dev/null | grep -q __asan || { echo "built with a sanitizer: no sandbox" >&2; exit 77; }

# Outside of the directory of the sockets, which a child of sondad's may change.
other=$(mktemp -d)
trap '[ "$BASHPID" != $$ ] || { leave; rm -rf "$other"; }' EXIT
chmod 777 "$other"
mkdir -m 777 "$other/made"
start_tries() { # NOTIFY_VARIABLE COMMAND...
  local variable=$1
  shift
  rm -f "$TMP/lines"
  truncate -s 16384 "$TMP/lines"
  chmod 666 "$TMP/lines"
  echo bytes >"$other/file"
  chmod 666 "$other/file"
  start_ready "$variable" "$TMP/log" env LD_PRELOAD="$(realpath "$tries")" SANDBOX_TRIES="$TMP/lines" \
    SANDBOX_TRIES_FILE="$other/file" "$@"
}
stop() {
  kill "${PIDS[-1]}"
  wait "${PIDS[-1]}"
  unset 'PIDS[-1]'
}
have_tried() { [ "$(tr -d '\0' <"$TMP/lines" | grep -c 'tried all')" = "$1" ]; }
is() { # NAME PROCESS ACTION=RESULT...
  local name=$1 process=$2
  shift 2
  tr -d '\0' <"$TMP/lines" | sed -n "s/^$process \([a-z]*\) /\1=/p" | grep -v '^tried' | sort >"$TMP/found"
  printf '%s\n' "$@" | sort >"$TMP/wanted"
  diff "$TMP/wanted" "$TMP/found" >"$TMP/difference"
  verdict "$name" $? "$TMP/difference" "$TMP/log"
}
filtered=(chmod=EPERM exec=EPERM fork=EPERM mkdir=EPERM ptrace=EPERM setuid=EPERM)

start_tries TRACED_NOTIFY_FD "$BIN/sondad"
wait_for have_tried 2
# There a process may read and change what its user may, as far as the filter lets it.
! grep -q 'no Landlock' "$TMP/log" || { echo "this kernel has no Landlock" >&2; exit 77; }
verdict "sondad and its child try what an attacker would" $? "$TMP/log"
is "sondad can do nothing with files, sockets and processes" sondad "${filtered[@]}" \
  read=EACCES write=EPERM create=EPERM unlink=EPERM socket=EPERM dumpable=EPERM
is "its child can only remove files, of the sockets' directories" sonda-files "${filtered[@]}" \
  read=EPERM write=EPERM create=EPERM unlink=EACCES socket=EPERM dumpable=EPERM
stop

start_tries TRACED_NOTIFY_FD "$BIN/sondad" --output-dir "$other/made"
wait_for have_tried 2
is "with an output directory its child can open and create files only there" sonda-files "${filtered[@]}" \
  read=EACCES write=EACCES create=EACCES unlink=EACCES socket=EPERM dumpable=EPERM
stop

start_ready TRACED_NOTIFY_FD "$TMP/service.log" "$BIN/sondad"
start_tries TRACED_PROBES_NOTIFY_FD "$BIN/sonda-probes"
wait_for have_tried 6
verdict "sonda-probes and its children try what an attacker would" $? "$TMP/log"
is "sonda-probes changes no file and starts no process" sonda-probes "${filtered[@]/mkdir=EPERM/mkdir=EACCES}" \
  read=done write=EACCES create=EACCES unlink=EACCES socket=done dumpable=0
is "its child sonda-reads reads, and does nothing else" sonda-reads "${filtered[@]}" \
  read=done write=EPERM create=EPERM unlink=EPERM socket=EPERM dumpable=EPERM
is "its child sonda-open opens to read, and does nothing else" sonda-open "${filtered[@]}" \
  read=done write=EPERM create=EPERM unlink=EPERM socket=EPERM dumpable=EPERM
is "its child sonda-elf, which parses files, opens none" sonda-elf "${filtered[@]}" \
  read=EPERM write=EPERM create=EPERM unlink=EPERM socket=EPERM dumpable=EPERM
is "its child sonda-name-open opens to read, and does nothing else" sonda-name-open "${filtered[@]}" \
  read=done write=EPERM create=EPERM unlink=EPERM socket=EPERM dumpable=EPERM
is "its child sonda-names, which parses files, opens none" sonda-names "${filtered[@]}" \
  read=EPERM write=EPERM create=EPERM unlink=EPERM socket=EPERM dumpable=EPERM
exit "$BAD"
