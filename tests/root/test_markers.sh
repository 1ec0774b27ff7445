#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: none
#
# trace_marker is everybody's: those who write there do not fail because sonda records markers, begins to or has ended, and
# the top level gets what they write as ever.
. "$(dirname "$0")/lib.sh"

[ -e $TRACEFS/options/copy_trace_marker ] || { echo "the kernel copies no markers" >&2; exit 77; }
was_on=$(cat $TRACEFS/tracing_on) was_kb=$(sed 's/[^0-9].*//' $TRACEFS/buffer_size_kb)
give_back() {
  echo "$was_kb" >$TRACEFS/buffer_size_kb
  echo "$was_on" >$TRACEFS/tracing_on
  echo >$TRACEFS/trace
  leave
}
trap '[ "$BASHPID" != $$ ] || give_back' EXIT
echo 1 >$TRACEFS/tracing_on
echo 16384 >$TRACEFS/buffer_size_kb
echo >$TRACEFS/trace

start_ready TRACED_NOTIFY_FD "$TMP/service.log" "$BIN/sondad"
start_ready TRACED_PROBES_NOTIFY_FD "$TMP/probes.log" "$BIN/sonda-probes"

# Without a rest, until the file is gone: how often it was written, and how often that failed.
write_markers() {
  local written=0 failed=0
  while [ -e "$TMP/go_on" ]; do
    if echo "marker of test_markers"; then written=$((written + 1)); else failed=$((failed + 1)); fi
  done >$TRACEFS/trace_marker 2>/dev/null
  echo "$written $failed" >"$TMP/counts"
}
touch "$TMP/go_on"
write_markers &
writer=$!
for _ in 1 2 3 4 5; do
  "$BIN/sonda" record -t 200ms -o "$TMP/trace" ftrace/print sched_switch >"$TMP/log" 2>&1 || break
done
code=$?
rm "$TMP/go_on"
wait $writer
read -r written failed <"$TMP/counts"

[ "$code" = 0 ] && grep -q 'ftrace [1-9]' "$TMP/log"
verdict "markers are recorded" $? "$TMP/log"
[ "$written" -gt 100 ] && [ "$failed" = 0 ]
verdict "who writes them does not fail when a recording begins, runs or ends" $? "$TMP/counts"
cat "$TMP/counts"
grep -c 'marker of test_markers' $TRACEFS/trace >"$TMP/top"
overrun=$(cat $TRACEFS/per_cpu/cpu*/stats | awk '/^overrun/ { n += $2 } END { print n }')
[ $(($(cat "$TMP/top") + overrun)) -ge "$written" ]
verdict "the top level has all of them" $? "$TMP/top"

# ---- while the top level does not record

echo 0 >$TRACEFS/tracing_on
copies=$(cat $TRACEFS/options/copy_trace_marker)
"$BIN/sonda" record -o "$TMP/off" ftrace/print -- \
  sh -c "for i in 1 2 3 4 5; do echo \"marker of test_markers\" >$TRACEFS/trace_marker || exit 1; done" >"$TMP/log" 2>&1
[ $? = 0 ] && grep -q 'ftrace 5$' "$TMP/log" && grep -q "exited with code 0" "$TMP/log"
verdict "who writes markers does not fail while the top level does not record" $? "$TMP/log"
[ "$(cat $TRACEFS/options/copy_trace_marker)" = "$copies" ]
verdict "the settings of the top level are as before" $?

echo "1..$N"
exit $BAD
