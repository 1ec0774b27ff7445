#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check: long
# kernels: none
#
# sonda diff by control group: a loop runs in a group of its own during the recordings of B. The row of the group is what sonda
# report says of the same recordings.
. "$(dirname "$0")/lib.sh"
for CG in /sys/fs/cgroup /sys/fs/cgroup/unified; do [ ! -e $CG/cgroup.controllers ] || break; done
[ -e $CG/cgroup.controllers ] || { echo "no control groups of version 2" >&2; exit 77; }
group=sonda-diff-$$
cd "$TMP" || exit 2

end() {
  stop_all KILL
  rmdir "$CG/$group" 2>/dev/null
  leave
}
trap '[ "$BASHPID" != $$ ] || end' EXIT

mkdir "$CG/$group" || exit 1
for i in 1 2 3; do
  "$SONDA" record -q -o "a$i.pf" sched containers -t 200ms 2>>err
  bash -c "echo \$\$ >'$CG/$group/cgroup.procs'; while :; do :; done" &
  PIDS+=($!)
  "$SONDA" record -q -o "b$i.pf" sched containers -t 200ms 2>>err
  stop_all KILL 2>/dev/null
done
for i in 1 2 3; do
  "$SONDA" report cpu --by container --json "b$i.pf" >"cpu$i.json" 2>>err
  "$SONDA" report latency --by container --json "b$i.pf" >"latency$i.json" 2>>err
done
"$SONDA" diff --lossy --json a*.pf -- b*.pf >diff.json 2>>err
python3 - "/$group" 2>>err <<'PY'
import json
import sys
group = sys.argv[1]


def rows_of(path):
    with open(path, encoding="utf-8") as f:
        return [r for table in json.load(f).values() if isinstance(table, list) for r in table if r.get("container") == group]


with open("diff.json", encoding="utf-8") as f:
    changes = [r for r in json.load(f)["changes"] if r["what"] == "container " + group]
for metric, share in (("cpu", lambda r: r["cpu_pct"] * 1e7), ("latency", None)):
    row = [r for r in changes if r["metric"] == metric and r["measure"] == "total"]
    if metric == "latency" and not row:
        continue  # the loop did not wait
    assert len(row) == 1 and row[0]["level"] == "container", changes
    if share:
        wanted = sum(share(rows_of(f"{metric}{i}.json")[0]) for i in (1, 2, 3)) / 3
        assert row[0]["a"] == 0 and abs(row[0]["b"] - wanted) < 1e-4 * wanted, (row, wanted)
PY
verdict "the time of a control group is that of sonda report" $? err diff.json
exit $BAD
