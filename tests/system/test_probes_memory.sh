#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tracefs: shared
#
# sonda-probes polls 36,000 times and takes no more memory than after the first 2,000: the sources that poll, many
# instances of each in one session, every 10 ms. (The hour that it stands for is the same number of polls.)
#
# Polls are counted by the reads of the process: no poll of this config makes more than READS of them.
. "$(dirname "$0")/lib.sh"
READS=8 # four files of the network to their end
POLLS=36000
INSTANCES=30

start_daemon TRACED_NOTIFY_FD "$TMP/sondad.log" "$B/bin/sondad" &&
  start_daemon TRACED_PROBES_NOTIFY_FD "$TMP/probes.log" "$B/bin/sonda-probes"
verdict "the daemons start" $? "$TMP/sondad.log" "$TMP/probes.log"
probes=${PIDS[-1]}

{
  echo 'buffers { size_kb: 1024 fill_policy: RING_BUFFER }'
  for ((i = 0; i < INSTANCES; i++)); do
    cat <<'END'
data_sources { config { name: "linux.network_stats" network_stats_config { period_ms: 10 } } }
data_sources { config { name: "linux.cgroup_stats"
  cgroup_stats_config { period_ms: 10 max_depth: 0 files: "cpu.stat" files: "memory.stat" } } }
data_sources { config { name: "linux.sys_stats" sys_stats_config {
  meminfo_period_ms: 10 vmstat_period_ms: 10 files_period_ms: 10 files { path: "/proc/loadavg" } } } }
END
  done
  echo 'data_sources { config { name: "linux.sysfs_power" } }'
} >"$TMP/config"
reads() { awk '/^syscr/ { print $2 }' "/proc/$probes/io"; }
memory() { awk '/^RssAnon/ { print $2 }' "/proc/$probes/status"; }
until_polls() { # NUMBER: within a minute
  local i
  for ((i = 0; i < 600; i++)); do
    [ $((($(reads) - first) / READS)) -lt "$1" ] || return 0
    kill -0 "$recorder" 2>/dev/null || return 1
    sleep 0.1
  done
  return 1
}

first=$(reads)
"$B/bin/sonda" record -c "$TMP/config" -o "$TMP/trace" >"$TMP/log" 2>&1 </dev/null &
recorder=$!
PIDS+=("$recorder")
until_polls $((POLLS / 18)) && early=$(memory) && until_polls $POLLS && late=$(memory)
verdict "$POLLS polls" $? "$TMP/log" "$TMP/probes.log"
echo "anonymous memory: ${early:-?} kB after a few, ${late:-?} kB after all" >"$TMP/memory"
if grep -q 'no sandbox' "$TMP/sondad.log"; then
  skip "the memory stays what it was" "built with a sanitizer, which allocates memory of its own"
else
  [ -n "${early:-}" ] && [ -n "${late:-}" ] && [ "$late" -le $((early + 256)) ]
  verdict "the memory stays what it was" $? "$TMP/memory"
fi
kill -INT "$recorder" 2>/dev/null
wait "$recorder"
verdict "the recording ends well" $? "$TMP/log"
exit $BAD
