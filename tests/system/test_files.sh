#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Traces that sondad writes itself, and everything that can go wrong with a file: a disk that is full, a directory that
# goes, a reader that hangs up, a service that is killed. Packets are numbered, so what is in the file can be checked:
# it begins with the first, no number is left out, and the last one is whole.
. "$(dirname "$0")/lib.sh"
packets=4000

start_all() { # PACKETS [COMMAND that runs sondad]
  local packets=$1
  shift
  start_daemon TRACED_NOTIFY_FD "$TMP/service.log" "$@" "$B/bin/sondad" --output-dir "$TMP" &&
    start_daemon TRACED_PROBES_NOTIFY_FD "$TMP/producer.log" "$COUNTER" run "$packets"
}

config() { # DURATION_MS MORE
  cat >"$TMP/config" <<CONFIG
buffers { size_kb: 32768 }
data_sources { config { name: "sonda.test.counter" } }
producers { producer_name: "sonda.test.producer" shm_size_kb: 2048 page_size_kb: 32 }
duration_ms: $1
flush_timeout_ms: 10000
write_into_file: true
$2
CONFIG
}

record() { timeout 60 "$B/bin/sonda" record -c "$TMP/config" -o "$TMP/unused" >"$TMP/record.log" 2>&1; }
whole() { "$COUNTER" "$1" "$2" <"$3" >"$TMP/check.log" 2>&1; } # check|begin PACKETS TRACE

# Only where the service was reported so.
config 3000 "output_path: \"$TMP/trace\""
start_daemon TRACED_NOTIFY_FD "$TMP/service.log" "$B/bin/sondad"
record
[ $? != 0 ] && grep -q 'started without --output-dir; an open file can be passed' "$TMP/record.log" && [ ! -e "$TMP/trace" ]
verdict "output_path is refused, and the option is named" $? "$TMP/record.log"
stop_all

config 3000 "output_path: \"$TMP/trace\" file_write_period_ms: 200"
start_all $packets && record
verdict "a session with output_path ends well" $? "$TMP/record.log"
whole check $packets "$TMP/trace"
verdict "every packet is in the file once and whole" $? "$TMP/check.log"
record
[ $? != 0 ] && grep -q 'File exists' "$TMP/record.log" && whole check $packets "$TMP/trace"
verdict "the same path again is refused, and the file is as it was" $? "$TMP/record.log"

# Below the directory, by no way around.
mkdir "$TMP/elsewhere" && ln -s "$TMP/elsewhere" "$TMP/link"
for path in "/tmp/sonda-test-outside-$$" "$TMP/../sonda-test-outside-$$" "$TMP/link/trace"; do
  config 3000 "output_path: \"$path\""
  record
  [ $? != 0 ] && grep -q 'the tracing service aborted the session: output_path' "$TMP/record.log" && [ ! -e "$path" ]
  verdict "${path##*/tmp/} is no file below the directory" $? "$TMP/record.log"
done

# A file belongs to its consumer, and no other user can read it.
config 300 "output_path: \"$TMP/mine\""
record
[ "$(stat -c '%a %u' "$TMP/mine")" = "600 $(id -u)" ]
verdict "a file has mode 0600 and belongs to the consumer's user" $? "$TMP/record.log"
if [ "$(id -u)" = 0 ]; then
  chmod 711 "$TMP" && chown 4242 "$TMP/consumer" && cp "$B/bin/sonda" "$TMP/sonda" # others may not reach the build directory
  config 300 "output_path: \"$TMP/of4242\""
  chmod 644 "$TMP/config"
  timeout 60 setpriv --reuid 4242 --clear-groups env SONDA_SERVICE_USER=0 "$TMP/sonda" record -c "$TMP/config" >"$TMP/record.log" 2>&1 &&
    [ "$(stat -c '%a %u' "$TMP/of4242")" = "600 4242" ] && setpriv --reuid 4242 --clear-groups test -r "$TMP/of4242"
  verdict "the file of another user has mode 0600 and belongs to that user" $? "$TMP/record.log"
fi

# The service of root, which is root no more.
if [ "$(id -u)" = 0 ] && ! grep -q "no sandbox" "$TMP/service.log"; then
  mkdir "$TMP/theirs" && chown 12345 "$TMP/theirs"
  config 3000 "output_path: \"$TMP/theirs/trace\""
  record
  [ $? != 0 ] && grep -q 'Permission denied.*can be passed' "$TMP/record.log"
  verdict "the directory of another user is refused, with what to do" $? "$TMP/record.log"
  nice=$(awk '{ print $19 }' "/proc/${PIDS[0]}/stat")
  config 1500 "output_path: \"$TMP/boosted\" priority_boost { policy: POLICY_SCHED_OTHER priority: 7 }"
  # The service sets its priority by its limits, or by CAP_SYS_NICE where root may not raise them (CAP_SYS_RESOURCE).
  if setpriv --dump | grep -q '^Capability bounding set:.*sys_\(nice\|resource\)'; then
    record &
    for ((i = 0; i < 100; i++)); do
      [ "$(awk '{ print $19 }' "/proc/${PIDS[0]}/stat")" != -7 ] || break
      sleep 0.1
    done
    [ $i -lt 100 ] && wait $!
    verdict "priority_boost is applied" $? "$TMP/record.log"
    [ "$(awk '{ print $19 }' "/proc/${PIDS[0]}/stat")" = "$nice" ]
    verdict "priority_boost ends with the session" $?
  fi
  ! grep "sandbox blocked" "$TMP/service.log"
  verdict "nothing was tried that the sandbox forbids" $?
  stop_all
  config 1500 "output_path: \"$TMP/not_boosted\" priority_boost { policy: POLICY_SCHED_OTHER priority: 7 }"
  start_all $packets prlimit --nice=0 --rtprio=0 setpriv --bounding-set=-sys_nice,-sys_resource
  record
  [ $? != 0 ] && grep -q 'priority_boost: .*RLIMIT_NICE' "$TMP/record.log"
  verdict "priority_boost is refused, with the reason, without the limits and the capability" $? "$TMP/record.log"
fi
stop_all

config 3000 "file_write_period_ms: 200"
start_all $packets &&
  timeout 60 "$B/tests/system/write_into" "$TMP/config" 2>"$TMP/record.log" | cat >"$TMP/piped" &&
  whole check $packets "$TMP/piped"
verdict "every packet comes through a pipe" $? "$TMP/check.log"
stop_all

# Compressed, into a file and over the socket.
for how in 'compression { zstd { level: 1 } }' 'compression { deflate {} }' 'compression_type: COMPRESSION_TYPE_DEFLATE'; do
  config 3000 "$how output_path: \"$TMP/packed\" file_write_period_ms: 200"
  start_all $packets && record && whole check $packets "$TMP/packed" && grep -q 'compressed packets' "$TMP/check.log" &&
    [ "$(stat -c %s "$TMP/packed")" -lt $(($(stat -c %s "$TMP/trace") * 9 / 10)) ]
  verdict "$how: every packet is in the file, which is smaller" $? "$TMP/check.log"
  rm -f "$TMP/packed"
  sed -i '/^write_into_file/d; s/output_path: "[^"]*" file_write_period_ms: 200//' "$TMP/config"
  timeout 60 "$B/bin/sonda" record --strict -c "$TMP/config" -o "$TMP/packed" >"$TMP/record.log" 2>&1 &&
    ! grep -q 'not look into' "$TMP/record.log" && whole check $packets "$TMP/packed" &&
    grep -q 'compressed packets' "$TMP/check.log"
  verdict "$how: every packet comes over the socket, and the summary reads them" $? "$TMP/record.log"
  rm -f "$TMP/packed"
  stop_all
done

config 3000 "file_write_period_ms: 200"
start_all 100000
{ timeout 60 "$B/tests/system/write_into" "$TMP/config" 2>"$TMP/record.log"; echo $? >"$TMP/status"; } |
  head -c 300000 >/dev/null
[ "$(cat "$TMP/status")" = 3 ] && grep -q 'Broken pipe' "$TMP/record.log"
verdict "a pipe that is closed ends the session, and the consumer is reported" $? "$TMP/record.log"
"$B/tests/system/service_ping" >/dev/null
verdict "the service is alive" $?
stop_all

# The files one after the other are the whole trace.
mkdir "$TMP/many"
for how in 'rotate { max_file_size_bytes: 600000 }' 'rotate { max_file_size_bytes: 600000 } compression { zstd {} }' \
  'rotate { period_ms: 1000 }'; do
  config 3500 "output_path: \"$TMP/many/trace.pftrace\" file_write_period_ms: 200 $how"
  start_all $packets && record && cat "$TMP"/many/trace.*.pftrace >"$TMP/joined" && whole check $packets "$TMP/joined"
  verdict "$how: every packet is in one of the files" $? "$TMP/check.log"
  case $how in
  *size*)
    [ -e "$TMP/many/trace.000002.pftrace" ] && [ -z "$(find "$TMP/many" -size +600000c)" ]
    verdict "$how: there are several, none too large" $? <(ls -l "$TMP/many")
    ;;
  esac
  rm -f "$TMP"/many/*
  stop_all
done
config 3500 "output_path: \"$TMP/many/trace.pftrace\" file_write_period_ms: 200
  rotate { max_file_size_bytes: 300000 keep: 2 }"
start_all $packets && record && [ "$(find "$TMP/many" -type f | wc -l)" = 2 ] && [ ! -e "$TMP/many/trace.000001.pftrace" ]
verdict "keep: 2 leaves the newest two" $? "$TMP/record.log"
stop_all

mkdir "$TMP/directory"
config 30000 "output_path: \"$TMP/directory/trace\" file_write_period_ms: 100"
start_all 200000
record &
recorder=$!
until [ -s "$TMP/directory/trace" ]; do sleep 0.1; done
exec 8<"$TMP/directory/trace"
rm -r "$TMP/directory"
wait $recorder
[ $? != 0 ] && grep -q 'it was removed' "$TMP/record.log"
verdict "a directory that vanishes ends the session, and the consumer is reported" $? "$TMP/record.log"
"$COUNTER" begin 1 <&8 >"$TMP/check.log" 2>&1
verdict "what was written is whole" $? "$TMP/check.log"
exec 8<&-
stop_all

config 30000 "output_path: \"$TMP/killed\" file_write_period_ms: 100"
start_all 200000
record &
recorder=$!
until [ "$(stat -c %s "$TMP/killed" 2>/dev/null || echo 0)" -gt 1000000 ]; do sleep 0.05; done
child=$(pgrep -P "${PIDS[0]}" -x sonda-files)
{ kill -KILL "${PIDS[0]}"; wait "${PIDS[0]}"; } 2>/dev/null
wait $recorder
until [ ! -e "/proc/$child" ]; do sleep 0.05; done
whole begin 1000 "$TMP/killed"
verdict "a service that is killed leaves a file of whole packets" $? "$TMP/check.log"
stop_all

if unshare -rm true 2>/dev/null; then
  mkdir "$TMP/small"
  config 30000 "output_path: \"$TMP/small/trace\" file_write_period_ms: 100"
  # shellcheck disable=SC2016
  start_all 200000 unshare -rm sh -c 'mount -t tmpfs -o size=2m none "$0" && exec "$@"' "$TMP/small"
  record
  [ $? != 0 ] && grep -q 'No space left' "$TMP/record.log"
  verdict "a disk that is full ends the session, and the consumer is reported" $? "$TMP/record.log"
  whole begin 1000 "/proc/${PIDS[0]}/root$TMP/small/trace"
  verdict "the file ends with a whole packet" $? "$TMP/check.log"
  [ "$(stat -c %s "/proc/${PIDS[0]}/root$TMP/small/trace")" -gt 1500000 ]
  verdict "the file holds what the disk could take" $?
  stop_all
else
  echo "# no mount namespaces here: the full disk is left out"
fi
echo "1..$N"
exit $BAD
