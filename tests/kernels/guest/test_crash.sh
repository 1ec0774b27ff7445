#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# sonda recorder --crash on a kernel that panics: by sysrq-c in the first boot, by a hung task in the second one. After each,
# the report has the panic, all three CPUs up to it, and the thread that hung.
#
# boot: --boots 3 --smp 3 -m ext4 -m loop -w fsfreeze -w mkfs.ext4 -k 'reserve_mem=12M:2M:sonda_crash trace_instance=sonda_crash^traceoff@sonda_crash'
# kernels: 6.12 newest
# check: heavy
. "$(dirname "$0")/../lib.sh"

ring=$OUT/recorder
[ -e "$TRACEFS/instances/sonda_crash/last_boot_info" ] || { echo "the kernel keeps no instance over a reboot" >&2; exit 77; }
report() { "$BIN/sonda" report --dir "$ring" --boot -1 "$@"; }
crash() { # COMMAND...
  [ "$BAD" = 0 ] || exit "$BAD"
  # The guest's disk has what init keeps over a reboot.
  /bin/tar -C /out -cf /dev/vda . 2>/dev/null
  sync
  mkfifo "$TMP/empty"
  for cpu in 0 1 2; do
    # shellcheck disable=SC2016
    taskset -c $cpu bash -c 'while [ $SECONDS -lt 60 ]; do read -r -t 0.002 -u 9; done' 9<>"$TMP/empty" &
  done
  sleep 0.3
  "$@"
  sleep 30
  echo "it did not panic" >&2
  exit 1
}
by_hung_task() {
  truncate -s 4M "$TMP/image" && mkfs.ext4 -q -F "$TMP/image" && mkdir "$TMP/mounted" &&
    mount -o loop "$TMP/image" "$TMP/mounted" && fsfreeze -f "$TMP/mounted" || exit 1
  cp /bin/touch "$TMP/stuck"
  "$TMP/stuck" "$TMP/mounted/file" &
  cd /proc/sys/kernel && echo 2 >hung_task_timeout_secs && echo 1 >hung_task_check_interval_secs && echo 1 >hung_task_panic
}
by_sysrq() {
  echo 1 >/proc/sys/kernel/sysrq
  echo c >/proc/sysrq-trigger
}
# The latest time at which each of the CPUs was silent before the panic is at most 10 ms, a few pauses of the load.
is_complete() {
  "$BIN/sonda" sql "$1" --csv "with panic as (select min(ts) as ts from ftrace_event where name = 'console' and
      extract_arg(arg_set_id, 'msg') glob 'Kernel panic*')
    select count(*), max(panic.ts - last) < 10000000 from (select cpu, max(ts) as last from ftrace_event group by cpu), panic" |
    tail -n 1 | tee "$TMP/complete" | grep -q '^3,1'
}

[ "$BOOT" = 1 ] && { report 2>&1 | grep -q 'has no data from an earlier boot' || { echo "not ok 1 - nothing is left before"; exit 1; }; }
if [ "$BOOT" = 3 ]; then # no recorder ran in this boot yet
  report >"$TMP/report" 2>"$TMP/err" && grep -q '^sonda: saved the last events of boot ID' "$TMP/err" && grep -q 'blocked tasks' "$TMP/report"
  verdict "boot $BOOT: before the recorder runs, the report saves what the ring held" $? "$TMP/err" "$TMP/report"
fi
"$BIN/sonda" recorder run --dir "$ring" --crash minimal >"$TMP/log" 2>&1 &
PIDS+=($!)
records() { grep -q '^sonda: recording' "$TMP/log"; }
wait_for records
"$BIN/sonda" recorder status --dir "$ring" | grep -q '^crash     armed, ' && "$BIN/sonda" doctor crash | grep -q '^ok     crash      armed'
verdict "the ring is armed" $? "$TMP/log"
[ "$BOOT" != 1 ] || crash by_sysrq

what="Kernel panic - not syncing: sysrq triggered crash"
[ "$BOOT" = 2 ] || what="Kernel panic - not syncing: hung_task: blocked tasks"
trace=$(compgen -G "$ring/boots/*.pftrace" | tail -n 1)
report >"$TMP/report" 2>&1 && grep -qF "$what" "$TMP/report" && [ "$(sed -n '/^CPUs/,/^$/p' "$TMP/report" | wc -l)" = 6 ]
verdict "boot $BOOT: the report of the boot before has the panic and all CPUs" $? "$TMP/report" "$TMP/log"
is_complete "$trace"
verdict "boot $BOOT: each CPU's events reach the panic" $? "$TMP/complete"
[ "$BOOT" != 2 ] || crash by_hung_task

sed -n '/^Blocked/,/^$/p' "$TMP/report" | grep -q stuck && sed -n '/^Reported as hung/,/^$/p' "$TMP/report" | grep -q stuck
verdict "the thread that hung was blocked, and is named" $? "$TMP/report"
report --json latency >"$TMP/json" 2>"$TMP/err"
verdict "other reports of that boot" $? "$TMP/err"
cp "$trace" "$OUT/crash.pftrace"
is_true crash "switches of three CPUs" "select count(distinct cpu) = 3 from sched"
is_true crash "the boot that it is of" "select count(*) = 1 from metadata where name = 'trace_attribute.previous_boot.id' and length(str_value) = 36"
exit $BAD
