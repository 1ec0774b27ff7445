# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# For the paired measurements: records a load with either family's three programs, fresh daemons each time, and appends
# what it cost to $TMP/VARIANT. Sourced. A variant is how it is recorded:
#
#   sonda, perfetto             the trace is read from the service at the end ($TMP/config)
#   sonda_file, perfetto_file   the service writes it into the file all along ($TMP/config_file, write_into_file)
#
# A measurement is
#
#   all, probes, service, client   CPU time of the three programs together and each, in ns an event of the trace: from
#                           before the session begins until the client has ended, when the file is whole
#   bytes                   of packets with events, for each event
#   resident                peak of probes and service, in kB
#   whole                   ms from the end of the load until the file is whole
#   lost                    events that the kernel's rings lost, and chunks and packets behind them
. "$(dirname "${BASH_SOURCE[0]}")/../tests/interop/lib.sh"
. "$(dirname "${BASH_SOURCE[0]}")/asked.sh"
need_tracefs
command -v perf >/dev/null || { echo "perf is missing (Debian: linux-perf)" >&2; exit 77; }
BENCH=${BUILD:-build}/bench

cpu_ns() { # PID
  "$BENCH/cpu_time" "$1"
}

# A wait for the daemons to come to rest, so that each measurement holds its own work only.
at_rest() { # PID...
  local before=0 now
  for _ in $(seq 50); do
    now=0
    for pid; do now=$((now + $(cpu_ns "$pid"))); done
    [ $((now - before)) -gt 300000 ] || return 0
    before=$now
    sleep 0.1
  done
}

wait_for() { # COMMAND... : up to 20 s
  for _ in $(seq 200); do
    "$@" && return 0
    sleep 0.1
  done
  return 1
}

peak_kb() { awk '/^VmHWM/ { print $2 }' "/proc/$1/status"; }

start_recorder() { # FAMILY CONFIG OUT : its CPU time goes to OUT.cpu
  case $1 in
  sonda) "$BENCH/count_cpu" "$3.cpu" "$BIN/sonda" record -c "$2" -o "$3" >"$3.log" 2>&1 & ;;
  perfetto) "$BENCH/count_cpu" "$3.cpu" "$PEERS/run" perfetto --txt -c "$2" -o "$3" >"$3.log" 2>&1 & ;;
  esac
  PIDS+=("$!")
}

# Whether the kernel records for that many sessions (Perfetto's share the top level).
is_recording() { # FAMILY SESSIONS
  case $1 in
  sonda) [ "$(cat "/sys/kernel/tracing"/instances/sonda-*/tracing_on 2>/dev/null | grep -c 1)" = "$2" ] ;;
  perfetto) [ "$(cat "/sys/kernel/tracing/tracing_on" "/sys/kernel/tracing/events/sched/sched_switch/enable" | tr -d '\n')" = 11 ] ;;
  esac
}

# The load is a function of the caller. With more than one session all of them record the same; events and bytes are
# those of all traces.
measure() { # VARIANT SESSIONS LOAD
  local variant=$1 family=${1%_file} sessions=$2 load=$3 config=$TMP/config dir service probes service_ns probes_ns i
  local client_ns=0 events=0 bytes=0 lost=0 chunks=0 whole=0 e b l c ns wall
  [ "$variant" = "$family" ] || config=$TMP/config_file
  dir=$(mktemp -d "$TMP/$variant.XXXX")
  use_sockets "$dir"
  # A guest gets memory from its host when it touches it, at many times the usual cost: not in what is measured.
  "$BENCH/service_load" 0 warm 2000
  start_service "$family" "$dir" && start_probes "$family" "$dir" || exit 1
  service=${PIDS[0]} probes=${PIDS[1]}
  at_rest "$service" "$probes"
  service_ns=$(cpu_ns "$service") probes_ns=$(cpu_ns "$probes")
  for i in $(seq "$sessions"); do start_recorder "$family" "$config" "$dir/trace$i"; done
  wait_for is_recording "$family" "$sessions" || { echo "$family does not record" >&2; exit 1; }
  sleep 0.5
  "$load"
  sleep 0.2
  for i in $(seq "$sessions"); do
    kill -TERM "${PIDS[1 + i]}"
  done
  for i in $(seq "$sessions"); do
    wait "${PIDS[1 + i]}"
  done
  service_ns=$(($(cpu_ns "$service") - service_ns)) probes_ns=$(($(cpu_ns "$probes") - probes_ns))
  for i in $(seq "$sessions"); do
    read -r e b l c < <("$BENCH/count_events" "$dir/trace$i")
    [ "${e:-0}" -gt 1000 ] || { echo "only ${e:-0} events:"; cat "$dir/trace$i.log"; exit 1; }
    events=$((events + e)) bytes=$((bytes + b)) lost=$((lost + l)) chunks=$((chunks + c))
    read -r ns wall <"$dir/trace$i.cpu"
    client_ns=$((client_ns + ns)) whole=$((wall > whole ? wall : whole))
  done
  awk -v probes=$probes_ns -v service=$service_ns -v client=$client_ns -v n=$events -v bytes=$bytes -v whole=$whole \
    -v p="$(peak_kb "$probes")" -v s="$(peak_kb "$service")" 'BEGIN {
      printf "%.2f %.2f %.2f %.2f %.3f %d %d %.1f\n", (probes + service + client) / n, probes / n, service / n,
        client / n, bytes / n, p, s, whole / 1e6 }' >>"$TMP/$variant"
  echo "$variant: $events events, lost $lost and $chunks chunks; $(tail -n 1 "$TMP/$variant" |
    awk '{ print $1 " ns an event: probes " $2 ", service " $3 ", client " $4 "; " $5 " bytes; peak " $6 " + " $7 " kB; whole after " $8 " ms" }')"
  [ -z "${RAW:-}" ] || echo "$variant $(tail -n 1 "$TMP/$variant") $events $lost $chunks" >>"$RAW"
  stop_all
  rm -rf "$dir"
}

# Runs the same load while ring_floor alone reads the rings and walks the records. Writes $TMP/floor.
measure_floor() { # BUFFER_KB LOAD EVENT...
  local kb=$1 load=$2 ns events lost session
  shift 2
  "$BENCH/ring_floor" "$kb" 32 "$@" >"$TMP/floor.out" &
  PIDS+=("$!")
  wait_for grep -q ready "$TMP/floor.out" || exit 1
  sleep 0.5
  "$load"
  sleep 0.2
  stop_all
  read -r ns events lost session < <(tail -n 1 "$TMP/floor.out")
  [ "${events:-0}" -gt 1000 ] || { echo "ring_floor read ${events:-0} events" >&2; exit 1; }
  awk -v ns="$ns" -v n="$events" -v session="$session" 'BEGIN { printf "%.2f %.2f\n", ns / n, session / n }' >>"$TMP/floor"
  echo "floor: $events events, lost $lost; $(tail -n 1 "$TMP/floor" | sed 's/ / ns an event, with the session /')"
  [ -z "${RAW:-}" ] || echo "floor $(tail -n 1 "$TMP/floor") $events $lost 0" >>"$RAW"
}

# PAIRS rounds of all variants in turn (VARIANTS), and of the floor where events are named.
rounds() { # PAIRS SESSIONS LOAD [BUFFER_KB EVENT...]
  local n=$1 sessions=$2 load=$3 variant
  shift 3
  for _ in $(seq "$n"); do
    for variant in ${VARIANTS:-perfetto perfetto_file sonda_file}; do measure "$variant" "$sessions" "$load"; done
    [ $# = 0 ] || measure_floor "$1" "$load" "${@:2}"
  done
}

# Medians of what was measured so far, which is forgotten, and of the pairwise ratios of ours by that variant of
# Perfetto's whose median of `all` is the lower; in $TMP/ratios for asked_ratio, with the medians of our own ns.
ratios() { # TITLE
  local ours=sonda_file f
  # With RAW, also what earlier calls measured.
  [ -z "${RAW:-}" ] || for f in sonda sonda_file perfetto perfetto_file floor; do
    sed -n "s/^$f \(.*\) [0-9]* [0-9]* [0-9]*$/\1/p" "$RAW" >"$TMP/$f"
    [ -s "$TMP/$f" ] || rm -f "$TMP/$f"
  done
  [ -e "$TMP/$ours" ] || ours=sonda
  : >"$TMP/ratios"
  for f in "$ours" perfetto perfetto_file floor; do [ ! -e "$TMP/$f" ] || sed "s/^/$f /" "$TMP/$f"; done |
    awk -v title="$1" -v ours="$ours" -v out="$TMP/ratios" '
    function sorted_median(a, n,    i, j, t) {
      for (i = 2; i <= n; i++)
        for (j = i; j > 1 && a[j - 1] > a[j]; j--) { t = a[j]; a[j] = a[j - 1]; a[j - 1] = t }
      return n % 2 ? a[(n + 1) / 2] : (a[n / 2] + a[n / 2 + 1]) / 2
    }
    function median(of, c,    i, a) { for (i = 1; i <= n[of]; i++) a[i] = v[of, c, i]; return sorted_median(a, n[of]) }
    function ratio(to, c, to_c,    i, a) {
      for (i = 1; i <= n[ours]; i++) a[i] = v[to, to_c, i] ? v[ours, c, i] / v[to, to_c, i] : 0
      return sorted_median(a, n[ours])
    }
    { n[$1]++; for (c = 2; c <= NF; c++) v[$1, c - 1, n[$1]] = $c }
    END {
      split("all probes service client bytes resident_probes resident_service whole", name)
      for (f in n) {
        printf "%s: %s, median of %d:", title, f, n[f]
        if (f == "floor") printf " reading %s session %s", median(f, 1), median(f, 2)
        else for (c = 1; c <= 8; c++) printf " %s %s", name[c], median(f, c)
        print ""
      }
      best = !n["perfetto_file"] || (n["perfetto"] && median("perfetto", 1) <= median("perfetto_file", 1)) ? "perfetto" : "perfetto_file"
      printf "%s: ours by %s, medians of the ratios:", title, best
      for (c = 1; c <= 8; c++) {
        printf " %s %.2f", name[c], ratio(best, c, c)
        printf "%s %.3f\n", name[c], ratio(best, c, c) >out
      }
      if (n["floor"]) {
        printf "; all by the floor %.2f, by that of a session %.2f", ratio("floor", 1, 1), ratio("floor", 1, 2)
        printf "floor %.3f\n", ratio("floor", 1, 1) >out
      }
      print ""
      printf "ns_probes %.1f\n", median(ours, 2) >out
    }'
  rm -f "$TMP"/{sonda,perfetto}{,_file} "$TMP/floor"
}

ratio_of() { # NAME, as in $TMP/ratios
  sed -n "s/^$1 //p" "$TMP/ratios"
}

asked_ratio() { # TITLE NAME AT_MOST
  asked "$1" "$(ratio_of "$2")" "$3"
}

# The two configs: a data source, read at the end out of a buffer that holds all, and written into a file through one
# that does not.
configs() { # BUFFER_KB SOURCE
  printf 'buffers { size_kb: %d fill_policy: DISCARD }\n%s\n' "$1" "$2" >"$TMP/config"
  printf 'buffers { size_kb: 65536 }\nwrite_into_file: true\nfile_write_period_ms: 500\n%s\n' "$2" >"$TMP/config_file"
}
