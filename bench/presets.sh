#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: bench/presets.sh [--update] [PRESET...]      BUILD=build
#
# What each preset costs beside the mixed load of the tests (build/tests/root/mixed_load, two of them): CPU time of sondad,
# sonda-probes and the BPF programs in percent of one CPU, and bytes of trace a second. Each preset is recorded for 1 and for 6 s;
# the difference is the cost of 5 s, without that of the start. What the kernel takes to write an event into its ring is not
# in it. --update writes the figures into share/sonda/presets.
set -u
cd "$(dirname "$0")/.." || exit
B=${BUILD:-build} S=$B/bin/sonda
[ -x "$B/tests/root/mixed_load" ] || { echo "$B/tests/root/mixed_load is not built" >&2; exit 77; }
update=
[ "${1:-}" != --update ] || { update=1; shift; }
[ $# -gt 0 ] || set -- $(cd share/sonda/presets && printf '%s\n' *.cfg | sed 's/\.cfg$//')
TMP=$(mktemp -d)
loads=()
trap '[ "$BASHPID" != $$ ] || { kill "${loads[@]}" 2>/dev/null; wait "${loads[@]}" 2>/dev/null; rm -rf "$TMP"; }' EXIT
for i in 1 2; do
  mkdir "$TMP/$i"
  "$B/tests/root/mixed_load" "$TMP/$i" 3600 >/dev/null 2>&1 &
  loads+=($!)
done

record() { # PRESET SECONDS: "cpu_seconds ebpf_percent_of_the_machine bytes duration cpus"
  "$S" record -t "$2s" -b 256mb --json -o "$TMP/trace" "$1" >"$TMP/json" 2>"$TMP/err" || return
  "$S" info "$TMP/trace" | sed -nE 's/.* ([0-9.]+) % of the machine for eBPF counters.*/\1/p' >"$TMP/ebpf"
  python3 - "$TMP/json" "$(cat "$TMP/ebpf")" <<'PY'
import json, sys
j = json.load(open(sys.argv[1]))
print(j['service_cpu_s'], float(sys.argv[2] or 0), j['file_bytes'], j['duration_s'], j['cpus'])
PY
}

for preset; do
  short=$(record "$preset" 1) && long=$(record "$preset" 6) || { echo "$preset: not recorded: $(head -1 "$TMP/err")"; continue; }
  cost=$(python3 - $short $long <<'PY'
import sys
a, b = [list(map(float, sys.argv[i:i + 5])) for i in (1, 6)]
seconds = b[3] - a[3]
cpu = max(100 * (b[0] - a[0]) / seconds, 0) + b[1] * b[4]
rate = max(b[2] - a[2], 0) / seconds / 1024
print(f'{cpu:.1f} % of a CPU, ' + (f'{rate:.0f} KiB/s' if rate < 1024 else f'{rate / 1024:.1f} MiB/s'))
PY
  )
  echo "$preset: $cost"
  if [ -n "$update" ]; then
    # Behind the title, which is the first paragraph of the comment.
    awk -v cost="$cost" '/^#$/ { next } /^# Cost: / { next } !/^#/ && !done { print "#\n# Cost: " cost; done = 1 } { print }' \
      "share/sonda/presets/$preset.cfg" >"$TMP/new" && cat "$TMP/new" >"share/sonda/presets/$preset.cfg"
  fi
done
