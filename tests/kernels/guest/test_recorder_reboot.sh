#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# sonda recorder over reboots of the machine. Boot 1 ends without a stop: the ring on disk has the minutes before. Boot 2 stops
# a recorder --in-kernel, as systemd does: its ring on disk has what was in the kernel. Boot 3 does not: the next recorder and the
# status tell that it is lost.
#
# boot: --boots 4
# kernels: 6.1
. "$(dirname "$0")/../lib.sh"

ring=$OUT/recorder
run() { # ARGUMENT...
  "$BIN/sonda" recorder run --dir "$ring" --keep 1m --part 1s "$@" >"$TMP/log" 2>&1 &
  pid=$!
  PIDS+=("$pid")
  wait_for grep -q '^sonda: recording' "$TMP/log"
}
mark() { # NAME
  cp /bin/sh "$TMP/$1" && "$TMP/$1" -c 'for i in 1 2 3 4 5; do sleep 0.01; done'
}
has() { # NAME
  rm -f "$TMP/trace"
  "$BIN/sonda" snapshot --dir "$ring" -o "$TMP/trace" recorder 2>"$TMP/summary" &&
    "$BIN/sonda" sql --csv "$TMP/trace" "select name from thread where name = '$1'" | grep -q "^\"*$1"
}
status() { "$BIN/sonda" recorder status --dir "$ring"; }
reboot_now() {
  [ "$BAD" = 0 ] || exit "$BAD"
  warm_reboot
}

case $BOOT in
1)
  run sched
  mark first
  written() { has first; }
  wait_for written
  reboot_now
  ;;
2)
  status >"$TMP/status"
  head -n 1 "$TMP/status" | grep -q '^recorder  not running since .*: the machine went down while it was running$'
  verdict "the status tells that the machine went down" $? "$TMP/status"
  has first
  verdict "a ring on disk has what was before a reboot that nobody announced" $? "$TMP/summary"
  run --in-kernel --size 4mb sched
  mark second
  kill "$pid"
  wait "$pid"
  reboot_now
  ;;
3)
  has second
  verdict "rings in the kernel are on disk after a reboot that stopped the recorder" $? "$TMP/summary"
  run --in-kernel --size 4mb sched
  ! grep -q lost "$TMP/log"
  verdict "a recorder that was stopped has lost nothing" $? "$TMP/log"
  mark third
  reboot_now
  ;;
4)
  status >"$TMP/status"
  head -n 1 "$TMP/status" | grep -q ': the machine went down while it was running, and what was only in the kernel is lost$'
  verdict "the status tells that the kernel's rings are lost" $? "$TMP/status"
  run --in-kernel --size 4mb sched
  grep -q 'what was only in the kernel is lost; with --crash' "$TMP/log" && mark fourth && has fourth
  verdict "the next recorder tells it, too, and records" $? "$TMP/log" "$TMP/summary"
  ;;
esac
exit $BAD
