#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check: long
# tracefs: shared
#
# A unit of a real systemd that starts 3 s into the recording, 20 times: by --await --unit, each run is complete from its first
# exec on, for linux.ftrace and for linux.syscalls; a report has the unit by its name.
. "$(dirname "$0")/lib.sh"
needs_built "$B/tests/root/group_calls"
[ -e /sys/kernel/btf/vmlinux ] || { echo "the kernel has no BTF" >&2; exit 77; }
. "$HERE/systemd_lib.sh"
dir=$TMP/units
mkdir "$dir"
use_sockets "$dir"
cp "$B/tests/root/group_calls" "$TMP/usr/bin/"
printf '[Unit]\nDefaultDependencies=no\n[Service]\nType=oneshot\nExecStart=%s/usr/bin/group_calls\n' "$TMP" >"$UNITS/load.service"
ctl daemon-reload && ctl start load.service
verdict "the unit runs" $? "$TMP/ctl"

# The systemd here is not the machine's first process.
"$BIN/sonda" record --show-config --await --unit load --syscalls getppid --strace=getppid,execve sched_process_exec containers 2>"$dir/log" |
  sed "s/^\( *\)wait: true/&\n\1spawner_pids: $init/" >"$dir/config"
grep -q "spawner_pids: $init" "$dir/config"
verdict "its config names the process that starts units" $? "$dir/config" "$dir/log"
"$BIN/sonda" record -c "$dir/config" -t 60 -o "$dir/trace" -- sh -c 'echo >"$0/on"; while [ ! -e "$0/end" ]; do sleep 0.05; done' "$dir" >"$dir/log" 2>&1 &
PIDS+=($!)
recorder=$!
wait_for [ -e "$dir/on" ]
sleep 3
for _ in {1..20}; do ctl start load.service || echo "not started"; done >"$dir/failed"
echo >"$dir/end"
wait $recorder
verdict "20 runs are recorded" $? "$dir/log"
no_offenders "  all were started" "$(cat "$dir/failed")"
ask() { "$BIN/sonda" sql --csv "$dir/trace" "$1" 2>>"$dir/log" | tail -n +2 | tr -d '"\r'; }
# Both data sources have slices of these names: those of linux.syscalls are on a track of their own. (Shells call getppid, too.)
ask "select t.name, count(*), sum(n = 100) from (select track_id, count(*) as n from slice where name = 'sys_getppid' group by 1) s
  join thread_track t on t.id = s.track_id join thread using (utid) where thread.name = 'group_calls' group by 1" >"$dir/calls"
[ "$(cut -d, -f2- "$dir/calls" | sort -u)" = "20,20" ] && [ "$(wc -l <"$dir/calls")" = 2 ]
verdict "  each has all of its calls, in linux.ftrace and in linux.syscalls" $? "$dir/calls" "$dir/log"
ask "select (select count(distinct utid) from slice s join thread_track t on t.id = s.track_id where s.name = 'sys_execve' and
    extract_arg(s.arg_set_id, 'debug.arg0') glob '*group_calls') as calls, (select count(distinct utid) from ftrace_event
    where name = 'sched_process_exec' and extract_arg(arg_set_id, 'filename') glob '*group_calls') as events" >"$dir/execs"
[ "$(cat "$dir/execs")" = 20,20 ]
verdict "  and its first exec" $? "$dir/execs"
grep -qE '^  lost +nothing' "$dir/log"
verdict "  nothing was lost" $? "$dir/log"
"$BIN/sonda" report syscalls --by unit --csv "$dir/trace" 2>&1 | tr -d '"\r' >"$dir/report"
grep -q ',load.service$' "$dir/report"
verdict "a report has the unit" $? "$dir/report"
exit $BAD
