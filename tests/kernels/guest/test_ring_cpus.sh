#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CPUs that go and come while linux.ftrace records: what they do when they are back is in the trace, and what one does
# that was not in the machine at the start. (Newer kernels leave no room for one in an emulator.)
#
# boot: --real-time
# kernels: 6.1
. "$(dirname "$0")/../../root/lib.sh"

record=$B/tests/root/ftrace_record
CPUS=/sys/devices/system/cpu
calls=2000 # write(2) each time, with an event at its begin and end

cat >"$TMP/busy" <<'SCRIPT'
i=0
while [ $i -lt "$1" ]; do
  i=$((i + 1))
  echo >/dev/null
done
SCRIPT
busy() { taskset "$1" sh "$TMP/busy" $calls; } # MASK

events_of() { # CPU NAME
  awk -v cpu="$1" '$1 == "cpu" && $2 == cpu { print $4 }' "$TMP/$2.out"
}
all_read() { # NAME
  awk '$1 == "cpu" { n++; if ($8 != 0) bad = 1 } END { exit !n || bad }' "$TMP/$1.out"
}
run() { # NAME FUNCTION
  # The function whose name it is.
  # shellcheck disable=SC2163
  export -f busy "$2"
  export TMP CPUS calls
  timeout 60 "$record" "$TMP/$1.trace" 100 'ftrace_events: "raw_syscalls/*" buffer_size_kb: 4096' bash -c "$2" \
    >"$TMP/$1.out" 2>&1
}

off_and_on() {
  busy 2
  echo 0 >$CPUS/cpu1/online
  sleep 0.3
  echo 1 >$CPUS/cpu1/online
  busy 2
}
if [ -w $CPUS/cpu1/online ]; then
  run back off_and_on && all_read back && [ "$(events_of 1 back)" -ge $((4 * calls)) ]
  verdict "a CPU that goes off and comes back" $? "$TMP/back.out"
  on() { busy 2; }
  echo 0 >$CPUS/cpu1/online
  late() {
    sleep 0.2
    echo 1 >$CPUS/cpu1/online
    busy 2
  }
  run late late && all_read late && [ "$(events_of 1 late)" -ge $((2 * calls)) ]
  verdict "a CPU that is off at the start" $? "$TMP/late.out"
else
  skip "CPUs that go off" "this machine cannot"
fi

new=$(compgen -G "$CPUS/cpu[0-9]*" | wc -l)
export new
plugged_in() {
  monitor "device_add max-x86_64-cpu,id=more,socket-id=0,core-id=$new,thread-id=0"
  for i in $(seq 50); do
    [ -e $CPUS/cpu$new/online ] && break
    sleep 0.1
  done
  [ "$(cat $CPUS/cpu$new/online)" = 1 ] || echo 1 >$CPUS/cpu$new/online
  busy $((1 << new))
}
if command -v monitor >/dev/null && [ -e "$TRACEFS/per_cpu/cpu$new" ]; then
  run plugged plugged_in && all_read plugged && [ "$(events_of "$new" plugged)" -ge $((2 * calls)) ]
  status=$?
  if [ -e "$CPUS/cpu$new" ]; then
    verdict "a CPU that is plugged in" $status "$TMP/plugged.out"
  else
    skip "a CPU that is plugged in" "the emulator did not do it"
  fi
else
  skip "a CPU that is plugged in" "there is no room for one"
fi
exit $BAD
