#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: bench/service.sh [PAIRS] [MODE...]      BUILD=build
#
# Perfetto's service and ours in turn under the same clients (service_load: our producer, a raw consumer). Modes:
#
#   commit  small   CPU of the service for each MB committed into a ring, in packets of 2 KB and of 100 bytes
#   file            the same while the service writes all into a file
#   read            ReadBuffers of a full buffer of 256 MB: CPU of the service, and time until all is there
#   clone           CloneSession of a full buffer of 64 MB: CPU, and time until the answer; the median of 5
#   idle            CPU of 10 s with 500 producers in a session that write nothing, in ms
#   rss             resident memory once the service is ready, after 300 MB were committed, and after 500 producers were
#                   there at a time; buffers and shared memories are gone by then. RssAnon is the service's own, RssFile
#                   code and constants of the program and its libraries, Pss a fair share of both (of Perfetto's all of
#                   it, as its libraries are a private copy)
#
# Medians of the pairwise ratios; of rss one measurement. Needs no root.
set -u
. "$(dirname "$0")/../tests/interop/lib.sh"
. "$(dirname "$0")/asked.sh"
pairs=${1:-3}
shift
[ $# -gt 0 ] || set -- commit small file read clone idle rss
load=${BUILD:-build}/bench/service_load

arguments() { # MODE
  case $1 in
  commit) echo 1000 ;;
  small) echo 300 ;;
  file) echo 200 ;;
  read) echo 256 ;;
  clone) echo 64 5 ;;
  idle) echo 500 10 ;;
  esac
}

# "CPU-ns wall-ns bytes", of several lines the median of each.
one() { # FAMILY MODE
  local dir
  dir=$(mktemp -d "$TMP/$1.XXXX")
  use_sockets "$dir"
  "$load" 0 warm 600 && start_service "$1" "$dir" || exit 1
  # shellcheck disable=SC2046 # words
  "$load" "${PIDS[0]}" "$2" $(arguments "$2") >"$dir/out" || exit 1
  stop_all
  for column in 1 2 3; do
    cut -d' ' -f$column "$dir/out" | sort -n | awk '{ v[NR] = $1 } END { printf "%s ", v[int((NR + 1) / 2)] }'
  done >>"$TMP/$2.$1"
  echo >>"$TMP/$2.$1"
  rm -rf "$dir"
}

# Once the buffers are gone, which the service sees a little after its clients are.
memory() { # WHEN
  local before now
  before=
  while now=$(awk '/^RssAnon:/ { print $2 }' "/proc/${PIDS[0]}/status") && [ "$now" != "$before" ]; do
    before=$now
    sleep 0.2
  done
  awk -v when="$1" '/^(RssAnon|RssFile|Pss):/ { printf "%s%s %s kB", n++ ? ", " : "  " when ": ", $1, $2 } END { print "" }' \
    "/proc/${PIDS[0]}/status" "/proc/${PIDS[0]}/smaps_rollup"
}

rss() { # FAMILY
  local dir
  dir=$(mktemp -d "$TMP/$1.XXXX")
  use_sockets "$dir"
  start_service "$1" "$dir" || exit 1
  echo "rss of $1:"
  memory "ready"
  "$load" "${PIDS[0]}" commit 300 >/dev/null && memory "after 300 MB"
  [ "$1" != sonda ] ||
    asked "memory beyond buffers, in kB" "$(awk '/^Rss(Anon|File):/ { kb += $2 } END { print kb }' "/proc/${PIDS[0]}/status")" 2048
  "$load" "${PIDS[0]}" idle 500 0 >/dev/null && memory "after 500 producers"
  stop_all
  rm -rf "$dir"
}

tell() { # MODE
  paste -d' ' "$TMP/$1.sonda" "$TMP/$1.perfetto" | tr -s ' ' | awk -v mode="$1" '
    function median(a, n,    i, j, t) {
      for (i = 2; i <= n; i++)
        for (j = i; j > 1 && a[j - 1] > a[j]; j--) { t = a[j]; a[j] = a[j - 1]; a[j - 1] = t }
      return n % 2 ? a[(n + 1) / 2] : (a[n / 2] + a[n / 2 + 1]) / 2
    }
    {
      ours[NR] = $1 / 1e6; theirs[NR] = $4 / 1e6; wall_ours[NR] = $2 / 1e6; wall_theirs[NR] = $5 / 1e6
      cpu[NR] = $4 ? ($1 / $3) / ($4 / $6) : 0
      wall[NR] = ($2 / $3) / ($5 / $6)
    }
    END {
      printf "%s: CPU %.2f and %.2f ms", mode, median(ours, NR), median(theirs, NR)
      if (mode != "idle") printf ", median of %d ratios %.2f", NR, median(cpu, NR)
      if (mode == "read" || mode == "clone")
        printf "; time %.2f and %.2f ms, ratio %.2f", median(wall_ours, NR), median(wall_theirs, NR), median(wall, NR)
      print ""
    }' | tee "$TMP/figures"
  case $1 in
  commit) asked "CPU of the service, a MB committed" "$(figure ', median of [0-9]* ratios')" 0.5 ;;
  read) asked "time of ReadBuffers" "$(figure ', ratio')" 0.5 ;;
  clone) asked "CPU of CloneSession" "$(figure ', median of [0-9]* ratios')" 0.5 ;;
  idle) asked "CPU of 10 s with 500 idle producers, in ms" "$(figure 'CPU')" 5 ;;
  esac
}
figure() { # WHAT STANDS BEFORE IT
  sed -n "s/.*$1 \\([0-9.]*\\).*/\\1/p" "$TMP/figures"
}

echo "ours and Perfetto's:"
for mode; do
  if [ "$mode" = rss ]; then
    rss sonda
    rss perfetto
    continue
  fi
  for _ in $(seq "$pairs"); do
    one perfetto "$mode"
    one sonda "$mode"
  done
  tell "$mode"
done
exit $OVER
