#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: 5.10
#
# The attacks of docs/reference/security.md on `sonda record` alone: root records with a service of its own, and user 4242 gets neither
# into its sockets nor into its processes, also with a umask of 0. A link of user 4242 in an open directory is not followed, and
# buffers that the memory control group has no room for are refused.
#
# tracefs: shared
. "$(dirname "$0")/lib.sh"
needs_commands setpriv

chmod 711 "$TMP"
cp "$BIN/sonda" "$TMP/sonda"
user() { # UID COMMAND...
  local uid=$1
  shift
  setpriv --reuid "$uid" --regid "$uid" --clear-groups "$@"
}
child() { # NAME: of the recording's
  local pid
  for pid in $(cat "/proc/$record/task/$record/children" 2>/dev/null); do
    [ "$(cat "/proc/$pid/comm" 2>/dev/null)" != "$1" ] || echo "$pid"
  done
}
address() { # PRODUCER|CONSUMER: of the recording's own service
  tr '\0' '\n' <"/proc/$(child sondad)/environ" 2>/dev/null | sed -n "s/^PERFETTO_$1_SOCK_NAME=//p"
}
records() { # the kernel records, too
  PERFETTO_CONSUMER_SOCK_NAME=$(address CONSUMER) "$BIN/sonda" status 2>&1 | grep -q STARTED &&
    grep -qsx 1 "/sys/kernel/tracing/instances/sonda-$(child sonda-probes)-"*/tracing_on
}

(umask 0 && exec "$BIN/sonda" record -t 600s -o "$TMP/trace" sched) >"$TMP/log" 2>&1 &
record=$!
PIDS+=("$record")
wait_for records
verdict "root records with a service of its own" $? "$TMP/log"
directory=$(dirname "$(address CONSUMER)")

# User 4242, and the one that the service has become, unless a sanitizer leaves it root's.
others=4242
is_sanitized || others="$others $(awk '$1 == "Uid:" { print $2 }' "/proc/$(child sondad)/status")"
for uid in $others; do
  ! user "$uid" ls "$directory" >/dev/null 2>&1
  verdict "uid $uid: its directory is closed, in spite of the umask" $?
  for port in PRODUCER CONSUMER; do
    PERFETTO_CONSUMER_SOCK_NAME=$(address $port) user "$uid" timeout 20 "$TMP/sonda" sessions >"$TMP/reply" 2>&1
    [ $? != 0 ] && grep -q 'permission denied' "$TMP/reply"
    verdict "uid $uid: it cannot connect as a ${port,,}" $? "$TMP/reply"
  done
done
PERFETTO_CONSUMER_SOCK_NAME=$(address CONSUMER) "$TMP/sonda" sessions >"$TMP/reply" 2>&1
verdict "root can" $? "$TMP/reply"

for name in sondad sonda-probes; do
  open=
  for uid in $others; do
    for file in mem environ maps fd/0; do
      ! user "$uid" head -c 1 "/proc/$(child $name)/$file" >/dev/null 2>&1 || open="$open $uid:$file"
    done
  done
  echo "$open" >"$TMP/open"
  [ -z "$open" ]
  verdict "$name: others cannot read its memory, environment and files" $? "$TMP/open"
  ! user 4242 kill -KILL "$(child $name)" 2>/dev/null
  verdict "$name: uid 4242 cannot kill it" $?
done
kill -INT "$record"
wait "$record"
status=$?
[ $status = 0 ] && is_whole "$TMP/trace" && [ "$(events_in "$TMP/trace")" -gt 0 ]
verdict "the recording ends well after that" $? "$TMP/log"

# A link that the user has put where root writes.
mkdir -m 1777 "$TMP/open-directory"
echo precious >"$TMP/precious"
user 4242 ln -s "$TMP/precious" "$TMP/open-directory/trace"
"$BIN/sonda" record -t 100ms -o "$TMP/open-directory/trace" sched >"$TMP/log" 2>&1
[ $? != 0 ] && [ "$(cat "$TMP/precious")" = precious ]
verdict "uid 4242's link in an open directory is not followed" $? "$TMP/log"

# A memory control group.
cgroup=
if [ -d /sys/fs/cgroup/memory ]; then
  cgroup=/sys/fs/cgroup/memory/sonda-test-$$ limit=memory.limit_in_bytes
else
  cgroup=/sys/fs/cgroup/sonda-test-$$ limit=memory.max
fi
if mkdir "$cgroup" 2>/dev/null && echo 67108864 >"$cgroup/$limit" 2>/dev/null; then
  bash -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' bash "$cgroup" \
    "$BIN/sonda" record --buffer 256mb -t 100ms -o "$TMP/large" sched >"$TMP/log" 2>&1
  status=$?
  # Three quarters of three quarters of 64 MB.
  [ $status != 0 ] && [ $status -lt 128 ] && grep -q 'the limit per user is 37748736: request smaller ones (-b' "$TMP/log"
  verdict "buffers that the memory control group has no room for are refused" $? "$TMP/log"
else
  skip "limits of a memory control group" "none can be made here"
fi
wait_for rmdir "$cgroup" 2>/dev/null
exit "$BAD"
