#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The calls of a kernel function, in the session's instance where the kernel has the tracer there, at top level where
# it has it only there and no other program uses it; then the top level is as it was.
#
# kernels: 6.1
. "$(dirname "$0")/../lib.sh"

grep -qw function_graph $TRACEFS/available_tracers || { echo "the kernel has no function_graph" >&2; exit 77; }
settings() { # of the tracer, and of the rings
  (cd $TRACEFS && grep -H '' current_tracer set_graph_* set_ftrace_* max_graph_depth tracing_on buffer_size_kb set_event options/*)
}
graph() { # NAME COMMAND...
  local name=$1
  shift
  "$BIN/sonda" record --strict -o "$OUT/$name.pftrace" --function-graph=vfs_read --function-depth 3 raw_syscalls:sys_enter "$@" \
    >"$TMP/log" 2>&1
}
mkdir $TRACEFS/instances/theirs
own=$(grep -cw function_graph $TRACEFS/instances/theirs/available_tracers)
rmdir $TRACEFS/instances/theirs
settings >"$TMP/before"

# Calls of another program meanwhile. An emulator takes seconds to read the names of the kernel's functions.
(while :; do dd if=/etc/passwd of=/dev/null; done) >/dev/null 2>&1 &
PIDS+=($!)
graph functions -- sh -c "echo \$\$ >'$TMP/pid'; cat $TRACEFS/current_tracer $TRACEFS/max_graph_depth >'$TMP/during'; exec cat /etc/passwd"
verdict "--function-graph: exit code 0, nothing is missing" $? "$TMP/log"
is_true functions "calls are slices of the command's thread" \
  "select count(*) > 0 and min(dur) >= 0 from slice join thread_track on thread_track.id = track_id join thread using (utid)
    where slice.name = 'vfs_read' and thread.name = 'cat'"
is_true functions "of its child, too" \
  "select count(*) > 0 from slice join thread_track on thread_track.id = track_id join thread using (utid)
    where slice.name = 'vfs_read' and thread.name = 'cat' and tid != $(cat "$TMP/pid")"
is_true functions "and of no other thread" \
  "select count(*) = 0 from slice join thread_track on thread_track.id = track_id join thread using (utid) where thread.name = 'dd'"
is_true functions "what they call is in them" "select count(*) > 0 from slice where depth = 1"
is_true functions "one for each read of these threads" \
  "select (select count(*) from ftrace_event where name = 'funcgraph_entry' and extract_arg(arg_set_id, 'func') = 'vfs_read') =
    (select count(*) from ftrace_event where name = 'sys_enter' and extract_arg(arg_set_id, 'id') in (0, 17))"
is_true functions "system calls are beside them" "select count(*) > 0 from ftrace_event where name = 'sys_enter'"
if [ "$own" = 1 ]; then
  [ "$(cat "$TMP/during")" = "nop
3" ]
  verdict "in the session's instance" $? "$TMP/during"
else
  [ "$(cat "$TMP/during")" = "function_graph
3" ]
  verdict "at top level, on loan" $? "$TMP/during"
fi
settings | diff "$TMP/before" - >"$TMP/diff"
verdict "the top level is as it was" $? "$TMP/diff"

# Another program uses the top level.
echo 1 >$TRACEFS/events/irq/softirq_entry/enable
settings >"$TMP/used"
graph beside -- cat /etc/passwd
status=$?
if [ "$own" = 1 ]; then
  verdict "beside another tracer at top level: nothing is missing" $status "$TMP/log"
  is_true beside "there are calls" "select count(*) > 0 from ftrace_event where name = 'funcgraph_entry'"
else
  [ $status = 3 ] && grep -q "missing .*funcgraph_entry.*tracefs' top level is in use: the event irq:softirq_entry is enabled" "$TMP/log"
  verdict "beside another tracer at top level: the log names it" $? "$TMP/log"
  is_true beside "the rest is recorded" "select count(*) > 0 from ftrace_event where name = 'sys_enter'"
fi
settings | diff "$TMP/used" - >"$TMP/diff"
verdict "beside another tracer at top level: the other tracer is left alone" $? "$TMP/diff"
echo 0 >$TRACEFS/events/irq/softirq_entry/enable
exit $BAD
