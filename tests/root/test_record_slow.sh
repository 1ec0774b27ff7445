#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: none
# tracefs: shared
#
# Outputs that do not take what is recorded: a file system that hangs (it is frozen), one that is full, a pipe that no
# process reads, one that is closed. What happens is reported while it happens, the service continues for all others, the exit code is
# right, and what was taken is a whole trace.
. "$(dirname "$0")/lib.sh"

truncate -s 64M "$TMP/disk"
mkdir "$TMP/mnt"
mkfs.ext4 -q "$TMP/disk" 2>/dev/null && mount -o loop "$TMP/disk" "$TMP/mnt" 2>/dev/null ||
  { echo "no file system of our own can be mounted here" >&2; exit 77; }
end() {
  fsfreeze -u "$TMP/mnt" 2>/dev/null
  leave_programs
  umount "$TMP/mnt"
  leave
}
leave_programs() {
  local p
  for p in "${PIDS[@]}"; do
    kill -KILL "$p" 2>/dev/null
    wait "$p" 2>/dev/null
  done
  PIDS=()
}
trap '[ "$BASHPID" != $$ ] || end' EXIT

"$BIN/sondad" 2>"$TMP/service.log" &
PIDS+=($!)
wait_for test -S "$TMP/consumer"
"$BIN/sonda-probes" 2>"$TMP/probes.log" &
PIDS+=($!)
# What the CPUs have left, so that nothing is lost for want of them.
nice -n 19 "$B/tests/root/ping_pong" 1000000000 &
PIDS+=($!)
load=$!

said() { grep -q "$1" "$TMP/log"; }
larger_than() { [ "$(stat -c %s "$1" 2>/dev/null || echo 0)" -gt "$2" ]; }
record() { # ARGS...: in the background
  "$BIN/sonda" record "$@" sched >"$TMP/out" 2>"$TMP/log" </dev/null &
  recorder=$!
  PIDS+=("$recorder")
}

# ---- a file system that hangs for a while

record -o "$TMP/mnt/a"
wait_for larger_than "$TMP/mnt/a" 100000
fsfreeze -f "$TMP/mnt"
wait_for said 'the output is not accepting data: .* waiting in the service'
verdict "a file system that hangs is reported while it does" $? "$TMP/log"
timeout 20 "$BIN/sonda" record -t 3s -B 16mb -o "$TMP/b" sched >"$TMP/log2" 2>&1
[ $? = 0 ] && is_whole "$TMP/b" && grep -q 'lost *nothing' "$TMP/log2"
verdict "meanwhile the service records for others" $? "$TMP/log2"
fsfreeze -u "$TMP/mnt"
wait_for said 'the output is accepting data again'
verdict "a file system that goes on is reported" $? "$TMP/log"
kill -INT $recorder
wait $recorder
verdict "a recording over it ends well" $? "$TMP/log"
is_whole "$TMP/mnt/a"
verdict "a recording over it is a whole trace" $? "$TMP/log"

# ---- one that hangs for good

record -o "$TMP/mnt/c"
wait_for larger_than "$TMP/mnt/c" 100000
fsfreeze -f "$TMP/mnt"
wait_for said 'the output is not accepting data'
kill -INT $recorder
wait $recorder
[ $? = 1 ] && said 'its file system accepted no data for 10 s'
verdict "a file system that hangs for good: given up with the reason, exit code 1" $? "$TMP/log"
said '^Recorded '
verdict "a file system that hangs for good: what is kept is reported" $? "$TMP/log"
timeout 20 "$BIN/sonda" record -t 3s -B 16mb -o "$TMP/b" sched >"$TMP/log2" 2>&1
verdict "the service records on" $? "$TMP/log2"
fsfreeze -u "$TMP/mnt"
is_whole "$TMP/mnt/c"
verdict "what is kept is whole" $?

# ---- a consumer that is killed while its file hangs

record -o "$TMP/mnt/d"
wait_for larger_than "$TMP/mnt/d" 100000
fsfreeze -f "$TMP/mnt"
wait_for said 'the output is not accepting data'
kill -KILL $recorder
wait $recorder 2>/dev/null
timeout 20 "$BIN/sonda" record -t 3s -B 16mb -o "$TMP/b" sched >"$TMP/log2" 2>&1
verdict "sonda is killed while its file hangs: the service records on" $? "$TMP/log2"
fsfreeze -u "$TMP/mnt"
no_sessions() { [ "$("$BIN/sonda" sessions --json | grep -c '"id"')" = 0 ]; }
wait_for no_sessions
is_whole "$TMP/mnt/d"
verdict "sonda is killed while its file hangs: its file is a whole trace" $?

# ---- full

rm "$TMP/mnt/"[acd]
record -t 60s -o "$TMP/mnt/e"
(wait_for larger_than "$TMP/mnt/e" 100000
  head -c 100M /dev/zero >"$TMP/mnt/filler" 2>/dev/null)
wait $recorder
[ $? = 1 ] && said 'No space left on device' && said '^Recorded '
verdict "a disk that others fill: reported, exit code 1, with what is kept" $? "$TMP/log"
is_whole "$TMP/mnt/e"
verdict "a disk that others fill: what is kept is a whole trace" $?
rm "$TMP/mnt/filler" "$TMP/mnt/e"
fallocate -l $(($(stat -f -c '%a * %S' "$TMP/mnt") - (6 << 20))) "$TMP/mnt/filler"
record -t 60s -o "$TMP/mnt/f"
wait $recorder
[ $? = 1 ] && said 'stopped because the file system of .* is nearly full' && said 'ended *the file system was nearly full' && is_whole "$TMP/mnt/f" &&
  [ "$(stat -f -c %a "$TMP/mnt")" -gt 0 ]
verdict "a recording fills no disk" $? "$TMP/log"
record -t 60s --max-size 1mb -o "$TMP/g"
wait $recorder
[ $? = 0 ] && said 'the file has reached --max-size' && is_whole "$TMP/g" && ! larger_than "$TMP/g" 1048576
verdict "--max-size ends it well" $? "$TMP/log"
"$BIN/sonda" record -t 1s --max-size 1mb -o "$TMP/g" sched_process_exit >"$TMP/out" 2>"$TMP/log"
[ $? = 0 ] && said 'ended *duration reached' && ! said 'max-size'
verdict "a recording whose time is over before the file has that size is not said to have reached it" $? "$TMP/log"

# ---- pipes

mkfifo "$TMP/pipe"
# shellcheck disable=SC2217 # it holds the pipe open
sleep 1000 <"$TMP/pipe" &
reader=$!
PIDS+=("$reader")
record -o "$TMP/pipe"
wait_for said 'the output is not accepting data'
verdict "a pipe whose reader does not read is reported while it happens" $? "$TMP/log"
kill $reader
wait $recorder
[ $? = 1 ] && said 'Broken pipe' && said '^Recorded '
verdict "a pipe that is closed: reported at once, exit code 1, with what was taken" $? "$TMP/log"
kill $load
exit $BAD
