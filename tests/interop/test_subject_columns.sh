#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: shared
#
# A recording of one control group and one of the whole machine at the same time, of a load of which the group is a twentieth:
# how large the files are, and that trace_processor reads the same switches of the group's threads from both.
. "$(dirname "$0")/lib.sh"
naps=$(realpath "$B/tests/root/naps")
needs_built "$naps"
needs_root
for CG in /sys/fs/cgroup /sys/fs/cgroup/unified; do [ ! -e $CG/cgroup.controllers ] || break; done
[ -e $CG/cgroup.controllers ] || { echo "no control groups of version 2" >&2; exit 77; }
group=sonda-columns-$$
end_load() {
  for g in "$CG/$group"-*; do xargs -r kill -KILL <"$g/cgroup.procs"; done
}
end() {
  # A killed process is in its group until it is gone.
  for _ in $(seq 100); do
    end_load
    rmdir "$CG/$group"-* && break
    sleep 0.05
  done 2>/dev/null
  leave
}
trap '[ "$BASHPID" != $$ ] || end' EXIT

dir=$TMP/columns
mkdir "$dir" "$CG/$group-one" "$CG/$group-others"
use_sockets "$dir"
start_service sonda "$dir" || exit 1
start_probes sonda "$dir" || exit 1
"$naps" "$CG/$group-one" 2 &
PIDS+=($!)
"$naps" "$CG/$group-others" 38 &
PIDS+=($!)
has_processes() { [ "$(wc -l <"$CG/$group-one/cgroup.procs")" = 2 ] && [ "$(wc -l <"$CG/$group-others/cgroup.procs")" = 38 ]; }
wait_for has_processes
tids=$(paste -sd, "$CG/$group-one/cgroup.procs")
# The command starts when the whole machine is recorded.
"$BIN/sonda" record -a -t 60 -o "$dir/all.trace" sched -- \
  timeout 60 "$BIN/sonda" record -t 2 -o "$dir/one.trace" --cgroup "/$group-one" sched >"$dir/log" 2>&1
verdict "records the machine and a control group" $? "$dir/log"
end_load
trace_errors "$dir/one.trace" >"$dir/errors"
[ "$(cat "$dir/errors")" = "[]" ]
verdict "trace_processor reads the file without an error" $? "$dir/errors"

for name in all one; do
  query "$dir/$name.trace" "select ts, dur, cpu, tid, end_state, priority from sched join thread using (utid)
    where tid in ($tids) and dur > 0 order by ts" >"$dir/$name.rows"
  query "$dir/$name.trace" "select (max(ts) - min(ts)) / 1e9 as seconds from sched" >"$dir/$name.seconds"
done
python3 - "$dir/all.rows" "$dir/one.rows" >"$dir/diff" 2>&1 <<'END'
import json, sys

def slices(name):
    """Of each thread, in the order of time."""
    threads = {}
    for row in json.load(open(name)):
        threads.setdefault(row['tid'], []).append(row)
    return threads

machine, group = slices(sys.argv[1]), slices(sys.argv[2])
n = 0
for tid, rows in group.items():
    rows = rows[1:-1]  # the first and the last one may be cut off
    # Each ring takes the time of a switch for itself.
    at = min(range(len(machine[tid])), key=lambda i: abs(machine[tid][i]['ts'] - rows[0]['ts']))
    for row, other in zip(rows, machine[tid][at:], strict=False):
        n += 1
        if any(row[k] != other[k] for k in ('cpu', 'end_state', 'priority')) or abs(row['ts'] - other['ts']) > 500_000:
            sys.exit(f'not equal:\n  {row}\n  {other}')
if len(group) != 2 or n < 100:
    sys.exit(f'{len(group)} threads with {n} slices')
END
verdict "the switches of its threads are those of the whole machine" $? "$dir/diff"

# The machine is recorded for a little longer.
python3 - "$dir" >"$dir/sizes" 2>&1 <<'END'
import json, os, sys

def rate(name):
    seconds = json.load(open(f'{sys.argv[1]}/{name}.seconds'))[0]['seconds']
    size = os.path.getsize(f'{sys.argv[1]}/{name}.trace')
    print(f'{name}: {size} bytes, {seconds:.2f} s')
    return size / seconds

times = rate('all') / rate('one')
print(f'{times:.1f} times smaller')
sys.exit(times < 10)
END
status=$?
verdict "its file is ten times smaller ($(tail -n 1 "$dir/sizes"))" $status "$dir/sizes"
exit "$BAD"
