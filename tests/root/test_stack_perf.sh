#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: none
# check: long
# kernels: none
#
# Call stacks of programs of this machine beside those of perf record --call-graph dwarf, which copies stack memory and unwinds it
# later: both sample the same switches.
. "$(dirname "$0")/lib.sh"
stacks=$(dirname "$(realpath "$0")")/stopped_stacks.py
[ "$(uname -m)" = x86_64 ] && [ -e /sys/kernel/btf/vmlinux ] || { echo "stacks are unwound by frame pointers" >&2; exit 77; }
command -v perf >/dev/null || { echo "perf is not here (linux-perf)" >&2; exit 77; }
awk -v cpus="$(nproc)" '{ exit !($1 <= 2 * cpus) }' /proc/loadavg || { echo "the machine is busy: the loads do not get their time" >&2; exit 77; }
cd "$TMP" || exit 2
chmod 755 .

# A load is a process group: timeout is its leader, and ends it even if this script is killed.
LOADS=()
start_load() { # COMMAND...
  timeout 60 "$@" &
  LOADS+=("$!")
}
start_as_nobody() { # COMMAND...
  setpriv --reuid nobody --regid nogroup --clear-groups timeout 60 "$@" &
  LOADS+=("$!")
}
stop_loads() {
  local p
  # Each process of postgres has a session of its own.
  [ ! -s data/x/postmaster.pid ] || kill -QUIT "$(head -n 1 data/x/postmaster.pid)" 2>/dev/null
  for ((p = 0; p < 50; p++)); do [ -s data/x/postmaster.pid ] && sleep 0.1 || break; done
  for p in "${LOADS[@]}"; do kill -KILL -- "-$p" 2>/dev/null; done
  wait "${LOADS[@]}" 2>/dev/null
  LOADS=()
}
trap '[ "$BASHPID" != $$ ] || { stop_loads; leave; }' EXIT

# Loads that run and sleep in turn.
load() { # PROGRAM
  local bin
  case $1 in
  python3)
    start_load /usr/bin/python3 -c '
import time
def f(n): return sum(i * i % 7 for i in range(n))
while True: f(10000); time.sleep(0.001)' ;;
  bash) start_load bash -c 'while :; do x=$((x + 1)); read -r -t 0.001 y </dev/zero; done' ;;
  gzip) start_load sh -c '(while head -c 100000 /dev/urandom; do sleep 0.002; done) | gzip -c >/dev/null' ;;
  xz) start_load sh -c '(while head -c 100000 /dev/urandom; do sleep 0.002; done) | xz -1 -c >/dev/null' ;;
  redis-server)
    start_load redis-server --port 0 --unixsocket "$TMP/redis" --save '' --appendonly no >/dev/null
    wait_for [ -S "$TMP/redis" ]
    start_load redis-benchmark -s "$TMP/redis" -c 3 -n 100000000 >/dev/null 2>&1 ;;
  nginx)
    mkdir -p www && echo hello >www/index.html
    printf 'daemon off; worker_processes 1; pid %s/pid; error_log /dev/null; events {} http { access_log off; server { listen unix:%s/web; root %s/www; } }\n' \
      "$TMP" "$TMP" "$TMP" >nginx.conf
    chmod 777 www
    start_load nginx -c "$TMP/nginx.conf"
    wait_for [ -S "$TMP/web" ]
    chmod 777 web
    start_load sh -c 'while :; do curl -s --unix-socket web http://x/ >/dev/null; done' ;;
  node)
    start_load node -e '
      function f(n) { let s = 0; for (let i = 0; i < n; i++) s += i * i % 7; return s; }
      setInterval(() => f(10000), 1)' ;;
  postgres)
    bin=$(dirname "$(printf '%s\n' /usr/lib/postgresql/*/bin/initdb | tail -n 1)")
    mkdir data && chown nobody data
    start_as_nobody "$bin/initdb" -N -A trust -D data/x >/dev/null 2>&1
    wait "${LOADS[-1]}"
    start_as_nobody "$bin/postgres" -D data/x -F -c listen_addresses= -c unix_socket_directories="$TMP/data" >/dev/null 2>&1
    wait_for [ -S data/.s.PGSQL.5432 ]
    start_as_nobody sh -c "until '$bin/psql' -h '$TMP/data' -c 'select 1' postgres; do sleep 0.2; done
      yes 'select sum(x * x % 7) from generate_series(1, 500) x;' | '$bin/psql' -q -h '$TMP/data' postgres" >/dev/null 2>&1 ;;
  esac
}
find_pid() { # PROGRAM: the youngest one below this test
  local pattern=$1
  [ "$1" != postgres ] || pattern='postgres: nobody'
  [ "$1" != nginx ] || pattern='nginx: worker'
  [ "$1" != bash ] || pattern='bash -c while'
  sampled=$(for p in $(pgrep -f "^([^ ]*/)?$pattern"); do
    [[ "$(readlink "/proc/$p/cwd")/" != "$TMP"/* ]] || echo "$p"
  done | tail -n 1)
  [ -n "$sampled" ]
}

# The stack of each sample: "TIME TID FILE+ADDRESS;...", the outermost frame first.
samples="with recursive walk(sample, ts, tid, up, path) as (
    select s.id, s.ts, t.tid, s.callsite_id, '' from perf_sample s join thread t using (utid) where callsite_id is not null
    union all
    select w.sample, w.ts, w.tid, c.parent_id, replace(m.name, rtrim(m.name, replace(m.name, '/', '')), '') || '+' ||
      printf('%x', f.rel_pc) || ';' || w.path
    from walk w join stack_profile_callsite c on c.id = w.up join stack_profile_frame f on f.id = c.frame_id
    join stack_profile_mapping m on m.id = f.mapping)
  select ts || ' ' || tid || ' ' || path from walk where up is null"

for program in redis-server postgres nginx python3 bash gzip xz node; do
  if ! command -v $program >/dev/null; then
    skip "$program" "it is not here"
    continue
  fi
  load $program
  wait_for find_pid $program
  cat >config <<CONFIG
buffers { size_kb: 131072 }
data_sources { config { name: "linux.perf" perf_event_config { ring_buffer_pages: 1024 timebase { counter: SW_CONTEXT_SWITCHES period: 1 }
  callstack_sampling { scope { target_pid: $sampled } user_frames: UNWIND_DWARF } } } }
CONFIG
  "$BIN/sonda" record -c config -o trace -- sh -c "sleep 1.5; perf record -q -k CLOCK_BOOTTIME -e context-switches -c 1 --call-graph dwarf \
    -p $sampled -o perf.data -- sleep 0.5" >log 2>&1
  stop_loads
  timeout 60 perf script --no-inline -i perf.data -F tid,time,ip,dso --ns 2>>log | head -n 40000 | "$stacks" perf theirs
  # Compiled JavaScript has no .eh_frame: perf ends there.
  what=compare-perf
  [ $program != node ] || what=compare-begins
  "$BIN/sonda" sql --csv trace "$samples" 2>>log | tr -d '\r"' | tail -n +2 | "$stacks" $what theirs >result 2>>log
  read -r equal of <result
  [ "${of:-0}" -ge 20 ] && [ $((100 * equal)) -ge $((98 * of)) ]
  verdict "$program: 98 % of the frames are those of perf ($equal of $of)" $? log
  rm -f trace perf.data theirs
done
exit $BAD
