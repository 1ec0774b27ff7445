#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Every kind of field that an event can have, from a module that knows what it wrote: as the kernel prints it. Then the
# module is another one, whose events have the same names and other fields.
#
# build: modules
# kernels: newest
. "$(dirname "$0")/../lib.sh"

record=$B/tests/root/ftrace_record print=$B/tests/root/print_events
[ -e /modules/every_field.ko ] || { sed 's/^kernels: //' /modules/why >&2; exit 77; }
emit() { for i; do echo "$i" >/sys/module/"$module"/parameters/emit; done; }

# ---- values

insmod /modules/every_field.ko
module=every_field
theirs=$TRACEFS/instances/theirs
mkdir $theirs
echo 1 >$theirs/events/sonda_test/enable
# An emulator takes seconds to read the kernel's symbols: the stop waits for them, and the service does not flush meanwhile.
cat >"$TMP/config" <<'CONFIG'
buffers { size_kb: 16384 }
data_sources { config { name: "linux.ftrace" ftrace_config {
  ftrace_events: "sonda_test/*" ftrace_events: "ftrace/bprint" ftrace_events: "ftrace/bputs" symbolize_ksyms: true } } }
flush_timeout_ms: 60000
data_source_stop_timeout_ms: 60000
CONFIG
"$BIN/sonda" record --strict -c "$TMP/config" -o "$OUT/fields.pftrace" -- \
  bash -c "module=$module; $(declare -f emit); emit 0 1 2 300" >"$TMP/log" 2>&1 &&
  "$print" "$OUT/fields.pftrace" >"$TMP/events"
verdict "a module's events and what it says by trace_printk: nothing is missing" $? "$TMP/log"
# What is in parentheses is for people.
sed -n 's/^.*: \(numbers\|areas\|masks\): /\1 /p' $theirs/trace | sed 's/ *([^(]*)$//; s/ *$//' >"$TMP/kernel"
sed -n 's/^sonda_test\/\([a-z]*\) pid [0-9]* /\1 /p' "$TMP/events" |
  sed 's/function=1 function_symbol="\([a-z]*\)"/function=\1/; s/ ip_symbol="emit"//' >"$TMP/ours"
# A pointer to an object is a hash of 35 bits in the trace.
! grep -qE 'pointer=[0-9]{12}' "$TMP/ours" && sed -i 's/pointer=[1-9][0-9]*/pointer=hash/' "$TMP/kernel" "$TMP/ours" &&
  [ "$(wc -l <"$TMP/ours")" -ge 8 ] && diff "$TMP/kernel" "$TMP/ours" >"$TMP/diff"
verdict "each field is what the kernel prints" $? "$TMP/diff"
grep -q '^numbers s8=-128 u8=0 .* s64=-9223372036854775808 u64=0 .* yes=0 letter=65 mode=0 flags=0 pointer=0 function=kstrtouint ' "$TMP/ours" &&
  grep -q '^numbers s8=127 u8=255 .* s64=9223372036854775807 u64=18446744073709551615 .* yes=1 letter=122 mode=1 flags=3 ' "$TMP/ours" &&
  grep -q '^areas uuid=101112131415161718191a1b1c1d1e1f text="some text" four=0807060504030201 *0907060504030201 bytes=0807 words=08070605 ' "$TMP/ours"
verdict "the least and the greatest of each type" $? "$TMP/ours"
for i in 0 1 2 300; do
  n=$(printf '%#x' "$i") && [ "$i" != 0 ] || n=0
  [ "$i" != 1 ] || n=0xffffffffffffffff
  printf 'emit %u of every_field at kstrtouint, %s\nemit is over\n' "$i" "$n"
done >"$TMP/said"
sed -n 's/.*buf="//p; s/.* str="//p' "$TMP/events" | diff "$TMP/said" - >"$TMP/diff"
verdict "trace_printk with arguments and without" $? "$TMP/diff"
is_true fields "numbers are what they were" \
  "select count(*) = 1 from ftrace_event where name = 'numbers' and extract_arg(arg_set_id, 's8') = -128 and
    extract_arg(arg_set_id, 's16') = -32768 and extract_arg(arg_set_id, 's32') = -2147483648 and extract_arg(arg_set_id, 'u32') = 0 and
    extract_arg(arg_set_id, 's64') = -9223372036854775807 - 1 and extract_arg(arg_set_id, 'function_symbol') = 'kstrtouint'"
is_true fields "and texts" \
  "select count(*) = 4 from ftrace_event where name = 'areas' and extract_arg(arg_set_id, 'text') = 'some text' and
    extract_arg(arg_set_id, 'rel') = 'some text' and extract_arg(arg_set_id, 'name') = 'some text'"
rmdir $theirs

# ---- another module with the same events

is_on() { [ "$(cat $TRACEFS/instances/sonda-"$recorder"-*/events/sonda_test/enable 2>/dev/null)" = 1 ]; }
# Nearly all that is read is left out.
"$record" "$TMP/trace" 60000 'ftrace_events: "sonda_test/*" drain_period_ms: 10
  ftrace_events: "ftrace/print" print_filter { rules { prefix: "no" allow: false } }' >"$TMP/out" 2>&1 &
recorder=$!
PIDS+=("$recorder")
recording() { [ "$(cat $TRACEFS/instances/sonda-"$recorder"-*/tracing_on 2>/dev/null)" = 1 ]; }
wait_for recording
(while :; do echo no >$TRACEFS/trace_marker; done) &
PIDS+=($!)
emit 4
sleep 0.5
rmmod every_field
insmod /modules/every_field_changed.ko
module=every_field_changed
wait_for is_on
verdict "a module goes and another one comes with the same events: they are on again" $? "$TMP/out"
emit 5
kill "${PIDS[-1]}"
kill -TERM "$recorder"
wait "$recorder"
PIDS=()
"$print" "$TMP/trace" >"$TMP/events"
verdict "no number means two events" $? "$TMP/events"
[ "$(grep -c '^sonda_test/numbers pid [0-9]* s8=-4 u8=4 .* ip=[0-9]*$' "$TMP/events")" = 1 ] &&
  [ "$(grep -c '^sonda_test/numbers pid [0-9]* was_u32=5 s8=-5$' "$TMP/events")" = 1 ] &&
  [ "$(grep -c '^sonda_test/numbers' "$TMP/events")" = 2 ]
verdict "each record by the fields of its time" $? "$TMP/events"
grep -qE '^failed sonda_test/.*(re-created|removed) while recording; unread records were lost' "$TMP/out" && ! grep -qE '^(problem|status)' "$TMP/out"
verdict "that the first ones went is reported, and that the kernel has emptied the rings" $? "$TMP/out"
rmmod every_field_changed
exit $BAD
