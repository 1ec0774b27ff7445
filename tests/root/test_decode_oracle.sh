#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: 6.1
#
# Every event of the running kernel, under a mixed load: at least a million of them, decoded by us and by libtraceevent
# from the same sub-buffers, every field of every event equal; and trace_processor reads what we made of them without a
# complaint. DECODE_EVENTS or SLOWNESS (lib.sh) asks for fewer, on machines that are too slow for a million.
. "$(dirname "$0")/lib.sh"

events=${DECODE_EVENTS:-$(scaled 1000000)}
oracle=$B/tests/root/decode_oracle
load=$B/tests/root/mixed_load
disk=
words=words$$
# A probe of another program with several strings, and a load that passes it.
make_probe() {
  local at register=%cx
  [ "$(uname -m)" != aarch64 ] || register=%x3
  cp "$B/tests/root/probed" "$TMP/probed"
  at=$TMP/probed:$("$TMP/probed" offset)
  echo "p:$words/row $at w=+0($register):string[3] one=+0(+0($register)):string" 2>/dev/null >>$TRACEFS/uprobe_events
}
remove_probe() { ! grep -q ":$words/row" $TRACEFS/uprobe_events || echo "-:$words/row" >>$TRACEFS/uprobe_events; } 2>/dev/null
leave_disk() {
  [ -z "$disk" ] || { umount "$TMP/disk" 2>/dev/null; losetup -d "$disk" 2>/dev/null; }
  wait_for remove_probe
  leave
}
trap '[ "$BASHPID" != $$ ] || leave_disk' EXIT

# A file system of its own, so that blocks are written and a journal is kept; without one the load uses $TMP.
mkdir "$TMP/disk"
if truncate -s 64M "$TMP/disk.img" && mkfs.ext4 -q "$TMP/disk.img" 2>/dev/null &&
  disk=$(losetup --find --show "$TMP/disk.img" 2>/dev/null); then
  mount "$disk" "$TMP/disk" 2>/dev/null
fi

if make_probe; then
  (while sleep 0.1; do "$TMP/probed" 20; done) &
  PIDS+=($!)
fi
picture >"$TMP/before"
timeout 60 "$load" "$TMP/disk" 20 >/dev/null 2>&1 &
PIDS+=($!)
timeout 100 "$oracle" $TRACEFS "$events" 20 "$TMP/trace" >"$TMP/out" 2>"$TMP/err"
status=$?
[ $status != 77 ] || { tail -n 1 "$TMP/err" >&2; exit 77; }
kill "${PIDS[@]}" 2>/dev/null
picture >"$TMP/after"
cat "$TMP/err" >>"$TMP/out"
sed 's/^/# /' "$TMP/out" | cut -c 1-200

grep -q '^formats: [1-9]' "$TMP/out" && ! grep '^not written: ' "$TMP/out" | grep -qv ' ftrace/print\.ip$'
verdict "every field of every format is written" $? "$TMP/out"
for way in symbols plain columns legacy; do
  n=$(sed -n "s/^$way: \([0-9]*\) events.*/\1/p" "$TMP/out")
  [ "${n:-0}" -ge "$events" ] && ! grep -q "^$way: .*[a-z]/" "$TMP/err"
  verdict "$way: $n events, each field as libtraceevent has it" $? "$TMP/out"
done
[ $status = 0 ]
verdict "nothing is missing, nothing is there twice, no parse error" $? "$TMP/out"
diff "$TMP/before" "$TMP/after" >"$TMP/diff"
verdict "tracefs is as it was" $? "$TMP/diff"
passed=$(awk '$2 == "row" { n += $3 } END { print n + 0 }' $TRACEFS/uprobe_profile 2>/dev/null)
# In an emulator the recording may be full before its turn has come.
if [ "${passed:-0}" -gt 0 ] && [ -z "${SLOWNESS:-}" ]; then
  "$B/tests/root/print_events" "$TMP/trace" | grep "^$words/row" >"$TMP/rows"
  grep -q 'w_0="text [0-9]*" w_1="" w_2="last" one="text' "$TMP/rows"
  verdict "a probe's array of strings is among them" $? "$TMP/rows"
else
  skip "a probe's array of strings is among them" "no event with it came in time"
fi

# Nothing else is wrong with the trace than what is wrong with the ring: a switch that the kernel kept no record of.
broken=$(sed -n 's/^broken switches: //p' "$TMP/out")
# In an emulator it is read outside.
if [ -n "${OUT:-}" ]; then
  if [ "$broken" = 0 ]; then
    cp "$TMP/trace" "$OUT/decoded.pftrace"
    printf 'all of them are there\tselect count(*) >= %s from ftrace_event\n' "$events" >"$OUT/decoded.sql"
  fi
elif peers=$(tests/interop/peers.sh 2>/dev/null); then
  TP_ASSETS=$peers/tp timeout 100 node tests/interop/tpq.mjs "$TMP/trace" \
    "select name, value from stats where severity = 'error' and value > 0
      and not (name = 'mismatched_sched_switch_tids' and value = ${broken:-0})" \
    "select (select count(*) from ftrace_event) >= $events as enough" >"$TMP/tp" 2>/dev/null
  [ "$(cat "$TMP/tp")" = '[]
[{"enough":1}]' ]
  verdict "trace_processor reads all of them without an error" $? "$TMP/tp"
else
  skip "trace_processor reads all of them without an error" "it is not available here"
fi
exit $BAD
