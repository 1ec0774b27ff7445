#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Probes of a session's own in the kernel, by name and by a whole line; and events that the kernel makes by histograms.
#
# kernels: 6.12
. "$(dirname "$0")/../lib.sh"

record=$B/tests/root/ftrace_record print=$B/tests/root/print_events
[ -e $TRACEFS/kprobe_events ] || { echo "the kernel has no kprobe_events" >&2; exit 77; }
# A probe of another program, with the same name, during the whole test.
echo 'p:theirs/opened do_sys_openat2' >>$TRACEFS/kprobe_events
dynamic() { grep -v '^[a-z0-9]*:sonda_' $TRACEFS/kprobe_events $TRACEFS/dynamic_events; }
ours() { grep -q 'sonda_' $TRACEFS/kprobe_events $TRACEFS/dynamic_events; }
dynamic >"$TMP/before"

# ---- values

"$record" "$OUT/kprobes.pftrace" 100 '
  kprobe_events { probe: "do_sys_openat2" type: KPROBE_TYPE_BOTH }
  kprobe_events { probe: "vfs_open" type: KPROBE_TYPE_KPROBE }
  kprobe_events { probe: "filp_close" type: KPROBE_TYPE_KRETPROBE }
  kprobe_events { definition: "p:mine/open do_sys_openat2 dfd=%di:s32 name=+0(%si):ustring" }
  kprobe_events { definition: "r:mine/opened do_sys_openat2 fd=$retval:s32" }' \
  bash -c 'for i in $(seq 20); do : <"/nosuch/file-$i"; done' >"$TMP/out" 2>"$TMP/err" &&
  "$print" "$OUT/kprobes.pftrace" >"$TMP/events" && ! grep -qE '^(failed|problem|status)' "$TMP/out"
verdict "probes by name and by line" $? "$TMP/out"
for i in $(seq 20); do echo "dfd=-100 name=\"/nosuch/file-$i\""; done >"$TMP/expected"
sed -n 's/^mine\/open .*__probe_ip=[0-9]* \(.*nosuch.*\)/\1/p' "$TMP/events" | diff "$TMP/expected" - >"$TMP/diff"
verdict "arguments of each call" $? "$TMP/diff"
[ "$(grep -c '^mine/opened .* fd=-2$' "$TMP/events")" -ge 20 ]
verdict "results of the calls" $? "$TMP/events"
opens=$(grep -c '^mine/open pid' "$TMP/events")
grep -q "^probe mine/open hits [0-9]* misses 0$" "$TMP/events" && ! grep -q '^probe theirs' "$TMP/events" &&
  [ "$(sed -n 's/^probe mine\/open hits \([0-9]*\) .*/\1/p' "$TMP/events")" -ge "$opens" ]
verdict "the kernel's count of our probes only" $? "$TMP/events"
is_true kprobes "a pair of probes is a call with a duration" \
  "select count(*) >= 20 and min(dur) > 0 from slice where name = 'do_sys_openat2'"
is_true kprobes "a single one is a moment" "select count(*) >= 1 and max(dur) = 0 from slice where name in ('vfs_open', 'filp_close')"
is_true kprobes "arguments have their names" \
  "select count(*) = 20 from ftrace_event join args using (arg_set_id) where name = 'open' and key = 'name' and string_value like '/nosuch/%'"

# ---- what cannot be

"$record" "$TMP/bad" 100 'kprobe_events { probe: "vfs_opem" type: KPROBE_TYPE_KPROBE }
  kprobe_events { probe: "vfs_opem" type: KPROBE_TYPE_BOTH } kprobe_events { definition: "p:bad do_sys_openat2 x=%nope" }
  kprobe_events { definition: "p:bad do_sys_openatt2+0" } kprobe_events { definition: "p:bad do_sys_openat2+0xffffff" }
  kprobe_events { definition: "p:good do_sys_openat2" }' cat /dev/null >"$TMP/out" 2>&1
[ "$(grep -c '^failed option:kprobe_events' "$TMP/out")" = 5 ] && grep -q 'x=^%nope' "$TMP/out"
verdict "what the kernel refuses: each with its reason and place" $? "$TMP/out"
grep -q 'did you mean vfs_open? at character .*vfs_opem)' "$TMP/out" && grep -q 'did you mean do_sys_openat2?' "$TMP/out"
verdict "what the kernel refuses: the function that was meant is suggested" $? "$TMP/out"
"$print" "$TMP/bad" | grep -q '^kprobes/good pid'
verdict "what the kernel refuses: the other probes are recorded" $? "$TMP/out"
dynamic | diff "$TMP/before" - >"$TMP/diff" && ! ours
verdict "tracefs is as it was found" $? "$TMP/diff"

# ---- histograms

if [ -e $TRACEFS/synthetic_events ]; then
  eat="for i in 1 2; do head -c 3000000 /dev/zero | tr '\\\\0' a | sort >/dev/null; done"
  "$record" "$TMP/all" 100 'ftrace_events: "kmem/rss_stat"' bash -c "$eat" >"$TMP/all.out" 2>&1
  "$record" "$OUT/throttled.pftrace" 100 'ftrace_events: "kmem/rss_stat" throttle_rss_stat: true' bash -c "$eat" >"$TMP/out" 2>&1
  ! grep -qE '^(failed|problem|status)' "$TMP/out"
  verdict "throttle_rss_stat" $? "$TMP/out"
  all=$("$print" "$TMP/all" | grep -c '^event') some=$("$print" "$OUT/throttled.pftrace" | grep -c '^event')
  [ "$some" -gt 0 ] && [ "$some" -lt $((all / 2)) ]
  verdict "throttle_rss_stat: far fewer events ($some of $all)" $?
  is_true throttled "all of one kind" "select count(*) > 0 and count(distinct name) = 1 and min(name) = 'rss_stat_throttled' from ftrace_event"
  if grep -q core /sys/power/pm_test 2>/dev/null; then
    echo 1 >/sys/module/suspend/parameters/pm_test_delay
    "$record" "$OUT/suspend.pftrace" 100 'ftrace_events: "synthetic/suspend_resume_minimal"' \
      sh -c 'echo core >/sys/power/pm_test; echo mem >/sys/power/state; echo none >/sys/power/pm_test' >"$TMP/out" 2>&1
    is_true suspend "the machine slept once" "select count(*) = 2 from ftrace_event where name = 'suspend_resume_minimal'"
  fi
  dynamic | diff "$TMP/before" - >"$TMP/diff" && ! ours
  verdict "nothing is left of them" $? "$TMP/diff"
else
  "$record" "$TMP/all" 100 'ftrace_events: "kmem/rss_stat" throttle_rss_stat: true' true >"$TMP/out" 2>&1
  grep -q '^failed option:throttle_rss_stat (.*recorded unthrottled)$' "$TMP/out" &&
    "$print" "$TMP/all" | grep -q '^event'
  verdict "throttle_rss_stat: the kernel cannot, which is said, and kmem/rss_stat is recorded" $? "$TMP/out"
fi

# ---- killed

"$record" "$TMP/kill" 60000 'kprobe_events { probe: "do_sys_openat2" type: KPROBE_TYPE_BOTH }
  ftrace_events: "kmem/rss_stat" throttle_rss_stat: true' >"$TMP/out" 2>&1 &
PIDS+=($!)
recording() { [ "$(cat $TRACEFS/instances/sonda-"$1"-*/tracing_on 2>/dev/null)" = 1 ]; } # PID
wait_for recording "${PIDS[-1]}"
kill -KILL "${PIDS[-1]}"
wait "${PIDS[-1]}" 2>/dev/null
unset 'PIDS[-1]'
ours
verdict "SIGKILL leaves probes" $?
"$record" "$TMP/next" 100 'ftrace_events: "sched/sched_process_exit"' >"$TMP/out" 2>&1
dynamic | diff "$TMP/before" - >"$TMP/diff" && ! ours
verdict "the next start removes them, and no probe of another program" $? "$TMP/diff"
exit $BAD
