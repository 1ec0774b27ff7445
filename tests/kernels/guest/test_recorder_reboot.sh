#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Two recorders over a reboot that stops neither: the ring on disk has the minutes before; the status of the one --in-kernel, and
# the next such recorder, report that what was only in the kernel is lost.
#
# boot: --boots 2
# kernels: 6.1
. "$(dirname "$0")/../lib.sh"

run() { # RING ARGUMENT...
  "$BIN/sonda" recorder run --dir "$OUT/$1" --keep 10m --part 2s "${@:2}" >"$TMP/$1.log" 2>&1 &
  PIDS+=($!)
  wait_for grep -q '^sonda: recording' "$TMP/$1.log"
}
mark() { # NAME
  cp "$(command -v bash)" "$TMP/$1" && "$TMP/$1" -c 'for i in 1 2 3 4 5; do sleep 0.01; done'
}
has() { # RING NAME
  "$BIN/sonda" snapshot --dir "$OUT/$1" -o "$TMP/$1.$2" recorder 2>"$TMP/summary" &&
    "$BIN/sonda" sql --csv "$TMP/$1.$2" "select name from thread where name = '$2'" | grep -q "$2"
}
status_is() { # RING END
  "$BIN/sonda" recorder status --dir "$OUT/$1" >"$TMP/status"
  head -n 1 "$TMP/status" | grep -q "^recorder  not running since .*: $2\$"
}

if [ "$BOOT" = 1 ]; then
  run disk sched
  run kernel --in-kernel --size 4mb sched
  mark before
  sleep 8 # until sondad has flushed and written
  warm_reboot
fi
status_is disk 'the machine went down while it was running'
verdict "the status reports that the machine went down" $? "$TMP/status"
has disk before
verdict "the ring on disk has what was before the reboot" $? "$TMP/summary"
status_is kernel 'the machine went down while it was running, and the events that were only in kernel memory are lost'
verdict "--in-kernel: the status reports that the kernel's rings are lost" $? "$TMP/status"
run kernel --in-kernel --size 4mb sched
grep -q 'the events that were only in kernel memory are lost; with --crash' "$TMP/kernel.log" && mark after && has kernel after
verdict "--in-kernel: the next recorder reports it, too, and records" $? "$TMP/kernel.log" "$TMP/summary"
exit $BAD
