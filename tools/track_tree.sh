#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: tools/track_tree.sh TRACE
#
# The counter tracks of a trace as Perfetto's trace_processor sees them, as a tree: groups end in "/", counters have their
# unit in brackets. CPUs are one "CPU n", processes are one "(process)".
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
[ $# = 1 ] || { sed -n '/^# usage/s/^# //p' "$0" >&2; exit 2; }
TP_ASSETS=$("$root/tests/interop/peers.sh")/tp
export TP_ASSETS

# A line for each counter, its path with tabs between the names.
node "$root/tests/interop/tpq.mjs" "$1" "
  with recursive up(id, at, path) as (
    select id, id, '' from counter_track
    union all
    select up.id, t.parent_id,
      case when t.name glob 'CPU [0-9]*' then 'CPU n' else t.name end || char(9) || up.path
    from up join track t on t.id = up.at
  )
  select (case when p.upid is null then '' else '(process)' || char(9) end) || up.path || coalesce(k.unit, '-') as x
  from up join counter_track k using (id) left join process_counter_track p using (id)
  where up.at is null group by 1 order by 1" 2>/dev/null |
  tr '{' '\n' | sed -n 's/^"x":"\(.*\)"}[],]*$/\1/p' | sed 's/\\t/\t/g' |
  awk -F '\t' '
    function indent(n,   s) { while (n-- > 0) s = s "  "; return s }
    {
      same = 1
      for (i = 1; i < NF - 1; i++) {
        if ($i != last[i]) same = 0
        if (!same) print indent(i - 1) $i "/"
        last[i] = $i
        if (!same) for (j = i + 1; j < 20; j++) last[j] = ""
      }
      for (; i < 20; i++) last[i] = ""
      print indent(NF - 2) $(NF - 1) " [" $NF "]"
    }'
