#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# linux.frozen_ftrace over a warm reboot: what an instance held when the machine went down in the middle of it is in the
# trace of the next boot, once.
#
# boot: --boots 2 -k 'reserve_mem=20M:2M:trace trace_instance=boot_map@trace'
# kernels: newest
. "$(dirname "$0")/../lib.sh"

map=$TRACEFS/instances/boot_map
[ -e "$map/last_boot_info" ] || { echo "the kernel keeps no instance over a reboot" >&2; exit 77; }

if [ "$BOOT" = 1 ]; then
  cp "$B/tests/root/ping_pong" "$TMP/last_words"
  echo 1 >"$map/events/sched/sched_switch/enable"
  echo 1 >"$map/tracing_on"
  "$TMP/last_words" 300
  echo 'I|1|it goes down' >"$map/trace_marker"
  warm_reboot
fi

"$BIN/sonda" record --strict -c configs/frozen_ftrace.cfg -o "$OUT/frozen.pftrace" >"$TMP/log" 2>&1
verdict "what is left of the boot before is recorded, and nothing is missing" $? "$TMP/log"
is_true frozen "switches of that boot, with their names" \
  "select count(*) > 500 from ftrace_event join args using (arg_set_id) where ftrace_event.name = 'sched_switch'
    and key = 'next_comm' and string_value = 'last_words'"
is_true frozen "its marker, once" \
  "select count(*) = 1 from ftrace_event join args using (arg_set_id) where ftrace_event.name = 'print'
    and string_value like 'I|1|it goes down%'"

"$BIN/sonda" record --strict -c configs/frozen_ftrace.cfg -o "$TMP/again" >"$TMP/log" 2>&1
[ $? = 3 ] && grep -q 'holds no records from an earlier boot\|only records from the current boot' "$TMP/log"
verdict "once read, the log says that no record is left" $? "$TMP/log"
exit $BAD
