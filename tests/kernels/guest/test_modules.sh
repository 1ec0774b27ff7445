#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A module with events comes, goes and comes back while its events are recorded.
#
# modules: ext4 loop
# kernels: newest
. "$(dirname "$0")/../lib.sh"

record=$B/tests/root/ftrace_record print=$B/tests/root/print_events
[ -e /modules/ext4.ko ] && grep -q '^ext4 ' /proc/modules || { echo "ext4 is not a module here" >&2; exit 77; }
mkdir "$TMP/mnt"
# A file system of 64 KB, made by mke2fs -t ext2 -b 1024 -N 16 -m 0 -O none.
base64 -d <<'END' | gzip -d >"$TMP/disk"
H4sIAAAAAAACA+3au04bQRgG0FkvCGFu5iokirg2kpWWhkBFR0NBmSZKA4ICUEoQT4AET4CSKG8ADVIaGkqeggbS0C9jr42MocQJ
ZM+xfntHmrU9K3+rGY1DAIqqEmupdVyL1R8r6exQzavSan5fSDZCyLK1P0mzX97Otc8bCt1vEj/j6vRwcX/l6NePytnnxYvNfzHW
9Pr4093c6vnBybfLn+sDM42vOPxkXK+rGh9JQX5Hg6L0LqWx+lq5r8XnUrMFFEGWfWi8HGRA8Qy4BFBUoWP9264izX9ul/MF0PPx
p3Et1Pv1bbWrXbTrDwD8fb8b85+PL81/SmG2o1855Ps6jf2SkVijscZCvi80Hmsi1mSsqVjT5j8Ab16peU9PQv3xuBTq9fxef5OW
w+b2zu781+29rS+uFfxvhrryf5/m+QcKwl9+QP4B+QfkH5B/QP4B+QfkH5B/QP4B+QcAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAIAeeQBdeoKeAAABAA==
END
use_it() { # from a mount to the next
  mount -t ext4 -o loop "$TMP/disk" "$TMP/mnt" && echo hello >"$TMP/mnt/file" && sync && cat "$TMP/mnt/file" >/dev/null
  umount "$TMP/mnt"
}
rmmod ext4
use_on() { [ "$(cat "$TRACEFS"/instances/sonda-"$1"-*/events/ext4/enable 2>/dev/null)" = 1 ]; } # PID

"$record" "$OUT/module.pftrace" 60000 'ftrace_events: "ext4/*"' >"$TMP/out" 2>&1 &
PIDS+=($!)
recording() { [ "$(cat "$TRACEFS"/instances/sonda-"$1"-*/tracing_on 2>/dev/null)" = 1 ]; } # PID
wait_for recording "${PIDS[-1]}"
insmod /modules/ext4.ko
wait_for use_on "${PIDS[-1]}"
verdict "a module that is loaded while its events are asked for: they are switched on" $? "$TMP/out"
use_it
kill -TERM "${PIDS[-1]}"
wait "${PIDS[-1]}"
unset 'PIDS[-1]'
is_true module "its events are in the trace" \
  "select count(distinct name) > 5 from ftrace_event where name like 'ext4_%'"
grep -q '^unknown ext4/\*$' "$TMP/out" && ! grep -qE '^(failed|problem|status)' "$TMP/out"
verdict "that there were none at first is all that is reported" $? "$TMP/out"

"$record" "$TMP/trace" 60000 'ftrace_events: "ext4/*" ftrace_events: "loop/*"' >"$TMP/out" 2>&1 &
recorder=$!
PIDS+=("$recorder")
wait_for use_on $recorder
use_it
sleep 1
rmmod ext4
gone() { ! use_on $recorder; }
wait_for gone
sleep 2
insmod /modules/ext4.ko
wait_for use_on $recorder
verdict "it goes and comes back: its events are on again" $? "$TMP/out"
use_it
kill -TERM $recorder
wait $recorder
unset 'PIDS[-1]'
"$print" "$TMP/trace" >"$TMP/events"
grep -q '^failed ext4/\* ([0-9]* events removed while recording' "$TMP/out" && ! grep -qE '^(problem|status)' "$TMP/out"
verdict "that they went is reported, and no record is damaged" $? "$TMP/out"
# One program mounts, another one unmounts; each time it is others.
[ "$(sed -n 's/^event [0-9]* pid //p' "$TMP/events" | sort -u | wc -l)" -ge 4 ]
verdict "events of both times are in the trace" $? "$TMP/events"
umount "$TMP/mnt" 2>/dev/null
exit $BAD
