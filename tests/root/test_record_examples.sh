#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: none
# tracefs: shared
#
# Every example of `sonda record` in docs/ and the README is a command line that works: short, with processes,
# CPUs and programs that this machine has in the place of those that they name.
set -u
[ -z "${KERNEL:-}" ] || { echo "one kernel will do for the examples" >&2; exit 77; }
. "$(dirname "$0")/lib.sh"

helpers=$(readlink -f "$B/tests/root")
entry=$(od -An -t x8 -j 24 -N 8 "$helpers/do_calls" | tr -d ' ')
PATH=$BIN:$PATH
sleep 600 &
PIDS+=($!)
here=$PWD

# One a line, as it stands. (Others have tests of their own: a detached session in tests/system/test_sessions.sh, what is left behind
# the shell in tests/interop/test_snapshots.sh, what waits for a trigger in test_ebpf_triggers.sh, configs/long.cfg in test_files.sh,
# static probes in test_probes_named.sh, other machines in test_host.sh.)
examples() {
  sed -nE 's/^    (build\/bin\/)?(sonda record -.*|sonda record [a-z].*)/\2/p' docs/*/*.md README.md |
    grep -vE '^sonda record (\[|--detach)|&$|ebpf-flight-recorder|long.cfg|--usdt|--host' | sort -u
}

adapt() { # EXAMPLE
  sed -E "s/ +#.*//; s/-t [0-9]+[smh]/-t 200ms/; s/-p 1234(,99)?/-p ${PIDS[0]}/; s/-C 0[,-][0-9-]+/-C 0/; s/-b 512mb sched/-b 64mb sched -- true/
    s,-c (my|mine).cfg,-c $TMP/configs/sched.cfg,; s|-c configs/|-c $TMP/configs/|
    s|\./app:0x1160|$helpers/do_calls:0x$entry|; s|\./app:ns::load\(str name\)|$helpers/probed:known(int a, str text)|
    s|-- \./hello|-- $TMP/hello|; s/-- (make.*|\.\/app|\.\/ledger)/-- true/; s/sleep 5$/sleep 0.2/; s/ -o [a-z._-]+//" <<<"$1"
}

mkdir "$TMP/work" "$TMP/configs"
# The program of docs/reference/library.md, built as the page says.
sed -n '/hello\.c \*/,/^Build it/s/^    //p' docs/reference/library.md >"$TMP/hello.c"
lib=$(readlink -f "$B/lib")
cc -o "$TMP/hello" "$TMP/hello.c" -Iinclude -L"$lib" -lsonda -Wl,-rpath,"$lib" >"$TMP/log" 2>&1
verdict "the program of docs/reference/library.md is built" $? "$TMP/log"
# The preset of docs/reference/record.md.
export HOME=$TMP
unset XDG_CONFIG_HOME
mkdir -p "$TMP/.config/sonda/presets"
sed -n "/^    cat .*storage.cfg/,/^    CONFIG/s/^    //p" docs/reference/record.md | sed '1d;$d' >"$TMP/.config/sonda/presets/storage.cfg"
for config in configs/*.cfg; do
  sed 's/^duration_ms:.*/duration_ms: 200/' "$config" >"$TMP/$config"
done
n=0
while IFS= read -r example; do
  n=$((n + 1))
  line=$(adapt "$example")
  echo "$line" >"$TMP/log"
  (
    cd "$TMP/work" || exit
    eval "timeout 60 $line" >>"$TMP/log" 2>&1 </dev/null
  )
  status=$?
  # What this kernel cannot do is reported, and that a slow machine had not set the session up in 200 ms; then there is nothing.
  [ $status = 0 ] || { [ $status = 1 ] && grep -qE 'nothing is recorded: the (kernel|session ended while)|the kernel lacks CONFIG_' "$TMP/log"; }
  verdict "${example%% #*}" $? "$TMP/log"
  rm -f "$TMP"/work/*
done < <(examples)
[ $n -gt 25 ]
verdict "there are examples" $?
cd "$here" || exit
exit $BAD
