#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Probes of a session's own in a program, and events that come, go and change while a session records: every value is
# in the trace, sessions do not meet, and tracefs is as it was found, however the recording ends.
#
# kernels: 6.12
. "$(dirname "$0")/lib.sh"

record=$B/tests/root/ftrace_record print=$B/tests/root/print_events
case $(uname -m) in
x86_64) a=%di s=%si b=%dx words=%cx ;;
aarch64) a=%x0 s=%x1 b=%x2 words=%x3 ;;
*) echo "the names of this machine's registers are not known here" >&2; exit 77 ;;
esac
[ -e $TRACEFS/uprobe_events ] || { echo "the kernel has no uprobe_events" >&2; exit 77; }
# A copy, as the probe is placed in the test's own directory.
cp "$B/tests/root/probed" "$TMP/probed"
at=$TMP/probed:$("$TMP/probed" offset)

run() { # NAME MS CONFIG [COMMAND...]: a recording; its report in $TMP/NAME.out, its events in $TMP/NAME.events
  local name=$1 ms=$2 config=$3
  shift 3
  timeout 120 "$record" "$TMP/$name.trace" "$ms" "$config" "$@" >"$TMP/$name.out" 2>"$TMP/$name.err" &&
    "$print" "$TMP/$name.trace" >"$TMP/$name.events"
}

# Probes of another program, during the whole test. Other tests may add theirs.
mine=theirs$$
echo "p:$mine/one $at x=$a:s32" >>$TRACEFS/uprobe_events
their_group() { # VERB: of all instances that have it on, as whoever wants to remove it has to
  local i
  for i in "$TRACEFS"/instances/*/events/"$mine"/enable; do [ ! -e "$i" ] || echo 0 >"$i"; done
}
# Whoever has one on at this moment, as each recording of all events does, keeps the kernel from removing it.
try_to_remove_theirs() {
  local e
  their_group
  for e in one two; do echo "-:$mine/$e" >>$TRACEFS/uprobe_events; done
  ! grep -q ":$mine/" $TRACEFS/uprobe_events
}
remove_theirs() { wait_for try_to_remove_theirs; }
restore() {
  remove_theirs
  leave
}
trap '[ "$BASHPID" != $$ ] || restore' EXIT
# What is not ours, by whichever process.
dynamic() { for f in uprobe_events dynamic_events; do grep -v '^[a-z0-9]*:sonda_' $TRACEFS/$f; done; }
probes_of() { grep -q "^[a-z0-9]*:sonda_$1_" $TRACEFS/uprobe_events; } # PID
dynamic >"$TMP/before"

# ---- values

values='uprobe_events: "p:mine/known '$at' a='$a':s32 s=+0('$s'):string b='$b':u64 first=+0('$s'):u8[4]"'
run values 100 "$values" "$TMP/probed" 500
for i in $(seq 0 499); do echo "a=$i s=\"text $i\" b=$((1000 * i)) first=74657874"; done >"$TMP/expected"
sed -n 's/^mine\/known pid [0-9]* __probe_ip=[0-9]* //p' "$TMP/values.events" | sort | diff <(sort "$TMP/expected") - >"$TMP/diff"
verdict "arguments: each of 500 calls, with its number, its text and an array" $? "$TMP/diff"
grep -q '^probe mine/known hits 500 misses 0$' "$TMP/values.events"
verdict "arguments: the kernel counted as many" $? "$TMP/values.out"

# Strings in a row, of which the one between is empty.
words='uprobe_events: "p:mine/words '$at' w=+0('$words'):string[3] a='$a':s32"'
run words 100 "$words" "$TMP/probed" 100
for i in $(seq 0 99); do echo "w_0=\"text $i\" w_1=\"\" w_2=\"last\" a=$i"; done >"$TMP/expected"
sed -n 's/^mine\/words pid [0-9]* __probe_ip=[0-9]* //p' "$TMP/words.events" | sort | diff <(sort "$TMP/expected") - >"$TMP/diff"
verdict "an array of strings: each of its texts, in each of 100 calls" $? "$TMP/diff"

run results 100 'uprobe_events: "r:mine/back '$at' value=$retval:s32" uprobe_events: "p '$at'"' "$TMP/probed" 200
for i in $(seq 0 199); do echo "value=$((7 * i))"; done >"$TMP/expected"
sed -n 's/^mine\/back .* \(value=.*\)/\1/p' "$TMP/results.events" | sort | diff <(sort "$TMP/expected") - >"$TMP/diff"
verdict "results of each of 200 calls" $? "$TMP/diff"
name=uprobes/p_probed_${at##*:}
[ "$(grep -c "^$name pid" "$TMP/results.events")" = 200 ]
verdict "a probe without a name has the kernel's" $? "$TMP/results.events"

run legacy 100 "$values denser_generic_event_encoding: false" "$TMP/probed" 20 &&
  [ "$(grep -ac 'text 19' "$TMP/legacy.trace")" -gt 0 ]
verdict "in the older encoding, too" $? "$TMP/legacy.out"
run legacy 100 "$words denser_generic_event_encoding: false" "$TMP/probed" 20 &&
  [ "$(grep -aow last "$TMP/legacy.trace" | wc -l)" = 20 ]
verdict "in the older encoding, with arrays of strings" $? "$TMP/legacy.out"

run filtered 100 "$values"' event_filters { event: "mine/known" filter: "a >= 490" }' "$TMP/probed" 500
[ "$(grep -c ^mine/known "$TMP/filtered.events")" = 10 ]
verdict "a filter for it, by the name that the user gave it" $? "$TMP/filtered.out"

# ---- two at once

"$record" "$TMP/first.trace" 60000 "$values" >"$TMP/first.out" 2>&1 &
PIDS+=($!)
recording() { [ "$(cat "$TRACEFS"/instances/sonda-"$1"-*/tracing_on 2>/dev/null)" = 1 ]; } # PID
wait_for recording "${PIDS[-1]}"
run second 100 "$values"' uprobe_events: "p:mine/more '$at'"' "$TMP/probed" 100
"$TMP/probed" 50
kill -TERM "${PIDS[-1]}"
wait "${PIDS[-1]}"
unset 'PIDS[-1]'
"$print" "$TMP/first.trace" | grep '^mine' >"$TMP/first.events"
[ "$(grep -c '^mine/known' "$TMP/first.events")" = 150 ] && [ "$(grep -c '^mine/known' "$TMP/second.events")" = 100 ] &&
  [ "$(grep -c '^mine/more pid' "$TMP/second.events")" = 100 ] && ! grep -q mine/more "$TMP/first.events"
verdict "two sessions with the same probe: each has its own" $? "$TMP/first.out"
dynamic | diff "$TMP/before" - >"$TMP/diff"
verdict "other people's probes are as they were" $? "$TMP/diff"

# ---- what cannot be

run bad 100 "$values"' uprobe_events: "p:bad '$at' x=%nope" uprobe_events: "p:bad /nosuch/file:0x10"
  uprobe_events: "p:bad '"$TMP"'/probed:zz" uprobe_events: "-:'$mine'/one" uprobe_events: "nonsense"
  uprobe_events: "p:mine/known '$at' other=%ip" ftrace_events: "mine/*" ftrace_events: "nope/nope"' "$TMP/probed" 10
grep -q '^failed option:uprobe_events (.* at character [0-9]*: p:bad .* x=%^nope)$\|x=^%nope)$' "$TMP/bad.out" &&
  grep -q '^failed option:uprobe_events (.*^/nosuch/file:0x10)$' "$TMP/bad.out" &&
  grep -q '^failed option:uprobe_events (.*probed:zz)$' "$TMP/bad.out" &&
  grep -q '^failed option:uprobe_events (.*removes.*one)$' "$TMP/bad.out" &&
  grep -q '^failed option:uprobe_events (.*: nonsense)$' "$TMP/bad.out" &&
  [ "$(grep -c '^failed' "$TMP/bad.out")" = 6 ]
verdict "lines that the kernel refuses: its reason, and where" $? "$TMP/bad.out"
[ "$(grep -c ^unknown "$TMP/bad.out")" = 1 ] && [ "$(grep -c '^mine/known' "$TMP/bad.events")" = 10 ]
verdict "lines that the kernel refuses: the other lines are recorded" $? "$TMP/bad.out"

dynamic | diff "$TMP/before" - >"$TMP/diff"
verdict "nothing of it is left" $? "$TMP/diff"

# ---- killed

"$record" "$TMP/kill.trace" 60000 "$values" >"$TMP/kill.out" 2>&1 &
killed=$!
PIDS+=("$killed")
wait_for probes_of $killed
sleep 0.2
kill -KILL $killed
wait $killed 2>/dev/null
unset 'PIDS[-1]'
probes_of $killed
verdict "SIGKILL leaves probes" $?
run next 100 'ftrace_events: "sched/sched_process_exit"' && ! probes_of $killed
verdict "the next start removes them" $? "$TMP/next.out"
dynamic | diff "$TMP/before" - >"$TMP/diff"
verdict "the next start removes no probe of others" $? "$TMP/diff"

# ---- events that come, go and change

# The kernel discards what is unread of an event that goes, and what was read is decoded a little later.
has_no_entries() { # PID
  cat "$TRACEFS"/instances/sonda-"$1"-*/per_cpu/cpu*/stats | awk '/^entries: / { n += $2; seen = 1 } END { exit !seen || n }'
}
is_read() { has_no_entries "$1" && sleep 0.5 && has_no_entries "$1"; } # PID
seen() { [ "$(cat "$TRACEFS"/instances/sonda-"$1"-*/events/$mine/"$2"/enable 2>/dev/null)" = 1 ]; } # PID EVENT
"$record" "$TMP/change.trace" 60000 "ftrace_events: '$mine/*' event_filters { event: '$mine/two' filter: 'y >= 5000' }" \
  >"$TMP/change.out" 2>"$TMP/change.err" &
changing=$!
PIDS+=("$changing")
wait_for recording $changing # events are on before the instance is
wait_for seen $changing one
"$TMP/probed" 10
wait_for is_read $changing
# Other fields, and most likely the other's id.
remove_theirs
echo "p:$mine/two $at y=$b:u64" >>$TRACEFS/uprobe_events
echo "p:$mine/one $at s=+0($s):string" >>$TRACEFS/uprobe_events
wait_for seen $changing one && wait_for seen $changing two
verdict "a probe that is made anew, and another one, are switched on" $? "$TMP/change.err"
"$TMP/probed" 10
wait_for is_read $changing
# Just as it was before.
remove_theirs
echo "p:$mine/two $at y=$b:u64" >>$TRACEFS/uprobe_events
wait_for seen $changing two
verdict "a probe that is made anew as it was is switched on" $? <(cat "$TMP/change.err"; grep -s . "$TRACEFS"/instances/*/events/"$mine"/*/enable)
"$TMP/probed" 10
wait_for is_read $changing
kill -TERM $changing
wait $changing && "$print" "$TMP/change.trace" >"$TMP/change.events"
verdict "one number of the trace stands for one event" $? "$TMP/change.events"
unset 'PIDS[-1]'
values_of() { sed -n "s/^$mine\/$1 .*__probe_ip=[0-9]* //p" "$TMP/change.events" | sort | uniq -c | sed 's/^ *//'; } # EVENT
{
  for i in $(seq 0 9); do echo "1 x=$i"; done
  for i in $(seq 0 9); do echo "1 s=\"text $i\""; done
} | sort >"$TMP/expected"
values_of one | sort | diff "$TMP/expected" - >"$TMP/diff"
verdict "before and after: the fields of that time" $? "$TMP/diff"
for i in $(seq 5 9); do echo "2 y=$((1000 * i))"; done >"$TMP/expected"
values_of two | diff "$TMP/expected" - >"$TMP/diff"
verdict "a filter counts for an event that came later" $? <(cat "$TMP/diff" "$TMP/change.out")
grep -q "^failed $mine/one (.*while recording" "$TMP/change.out"
verdict "what went is reported" $? "$TMP/change.out"
remove_theirs
echo "p:$mine/one $at x=$a:s32" >>$TRACEFS/uprobe_events
dynamic | diff "$TMP/before" - >"$TMP/diff"
verdict "tracefs is as it was found" $? "$TMP/diff"

# ---- one trace of two sources

"$BIN/sondad" >"$TMP/sondad.log" 2>&1 &
PIDS+=($!)
wait_for test -S "$PERFETTO_PRODUCER_SOCK_NAME"
"$BIN/sonda-probes" >"$TMP/probes.log" 2>&1 &
PIDS+=($!)
cat >"$TMP/two.cfg" <<END
buffers { size_kb: 4096 }
data_sources { config { name: "linux.ftrace" ftrace_config { uprobe_events: "p:left/known $at a=$a:s32" } } }
data_sources { config { name: "linux.ftrace" ftrace_config { uprobe_events: "p:right/known $at b=$b:u64" } } }
END
"$BIN/sonda" record -c "$TMP/two.cfg" -o "$TMP/two.trace" >"$TMP/two.log" 2>&1 &
PIDS+=($!)
ready() { [ "$(cat "$TRACEFS"/instances/sonda-"${PIDS[-2]}"-*/tracing_on 2>/dev/null | tr -d '\n')" = 11 ]; }
wait_for ready
"$TMP/probed" 50
kill -TERM "${PIDS[-1]}"
wait "${PIDS[-1]}"
unset 'PIDS[-1]'
"$print" "$TMP/two.trace" >"$TMP/two.events"
verdict "two sources write one trace: one number stands for one event" $? "$TMP/two.events"
[ "$(grep -c '^left/known.* a=[0-9]*$' "$TMP/two.events")" = 50 ] &&
  [ "$(grep -c '^right/known.* b=[0-9]*$' "$TMP/two.events")" = 50 ]
verdict "two sources write one trace: the events of both are there" $? "$TMP/two.log"
kill -TERM "${PIDS[-1]}"
wait "${PIDS[-1]}"
unset 'PIDS[-1]'
dynamic | diff "$TMP/before" - >"$TMP/diff"
verdict "sonda-probes ends: tracefs is as it was found" $? "$TMP/diff"

exit $BAD
