#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: none
#
# linux.sys_stats on this machine, by both families with one config: the same counters by the same names, with values
# that lie within what Perfetto's probes saw before and after; and what the kernel counts without a number in SysStats.
# What does not change is equal to what /proc says.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || { echo "needs root (slabinfo)" >&2; exit 77; }

# Theirs first, ours, theirs again, with the config that docs/reference/counters.md names.
CONFIG=configs/sys_stats.cfg
sed 's/^duration_ms:.*/duration_ms: 1500/' "$CONFIG" >"$TMP/config"
one() { # FAMILY NAME
  mkdir "$TMP/$2"
  use_sockets "$TMP/$2"
  start_service "$1" "$TMP/$2" && start_probes "$1" "$TMP/$2" && record "$1" "$TMP/config" "$TMP/$2.trace" "$TMP/$2.log"
  local status=$?
  stop_all
  return $status
}
one perfetto before
verdict "Perfetto's programs record" $? "$TMP/before.log"
grep -E '^(MemTotal|SwapTotal|HugePages_Total|Hugepagesize|DirectMap1G)' /proc/meminfo >"$TMP/constant"
cp /proc/diskstats "$TMP/disks.before"
one sonda ours
verdict "ours record, by the example's config" $? "$TMP/ours.log"
cp /proc/diskstats "$TMP/disks.after"
one perfetto after
verdict "Perfetto's again" $? "$TMP/after.log"

[ "$(trace_errors "$TMP/ours.trace")" = '[]' ]
verdict "trace_processor has no complaint" $? "$TMP/tpq.err"

# One line a counter: its kind, its name with its CPU, the least and the greatest value.
counters() { # TRACE
  query "$1" "select group_concat(line, char(10)) as lines from (
    select t.type || ' ' || t.name || ' ' || coalesce(extract_arg(t.dimension_arg_set_id, 'cpu'), '-') || '|' ||
      printf('%.0f', min(c.value)) || '|' || printf('%.0f', max(c.value)) as line
    from counter c join counter_track t on c.track_id = t.id
    where t.type not in ('global_counter_track_event') group by t.id order by 1)" |
    node -e 'const text = require("fs").readFileSync(0, "utf8").trim(); console.log(JSON.parse(text)[0].lines)'
}
for t in before ours after; do counters "$TMP/$t.trace" | LC_ALL=C sort >"$TMP/$t.counters"; done

# What they record although the machine does not have it: a frequency of 0 for each CPU without one.
grep -v '^cpu_frequency cpufreq [0-9]*|0|0$' "$TMP/before.counters" | cut -d'|' -f1 | LC_ALL=C sort >"$TMP/names.theirs"
cut -d'|' -f1 "$TMP/ours.counters" | LC_ALL=C sort >"$TMP/names.ours"
LC_ALL=C comm -23 "$TMP/names.theirs" "$TMP/names.ours" >"$TMP/missing"
[ "$(wc -l <"$TMP/names.theirs")" -gt 200 ] && [ ! -s "$TMP/missing" ]
verdict "each of their counters (200 and more) is in ours, by its name" $? "$TMP/missing"
LC_ALL=C comm -13 "$TMP/names.theirs" "$TMP/names.ours" >"$TMP/more"
# Theirs may end where a machine has caches or disks that came in between.
[ "$(wc -l <"$TMP/more")" -le 8 ]
verdict "ours has hardly a counter that is not in theirs" $? "$TMP/more"

# What only grows must lie between their last value before and their first one after; counters that go up and down are
# held to a wide band around what they saw: half of it, and 500,000 pages or 2 GB.
join -t'|' "$TMP/before.counters" "$TMP/ours.counters" | join -t'|' - "$TMP/after.counters" >"$TMP/joined"
grows='^(cpustat|num_forks|num_irq|num_irq_total|num_softirq|num_softirq_total|psi|cpu_idle_state) '
awk -F'|' -v grows="$grows" '$1 ~ grows && $1 !~ /cpustat cpu.times.(idle|iowait|io_wait)_ns/ {
    n++
    if ($4 < $3 || $5 > $6) { print; bad++ }
  }
  END { if (n < 20 || bad) { print n + 0 " counters, outside: " bad + 0; exit 1 } }' "$TMP/joined" >"$TMP/outside"
verdict "what only grows lies between theirs before and after" $? "$TMP/outside"
awk -F'|' '$1 ~ /^(meminfo|vmstat|slabinfo) / {
    least = $2 < $6 ? $2 : $6; least = $3 < least ? $3 : least
    most = $7 > $3 ? $7 : $3
    band = 0.5 * most + ($1 ~ /^vmstat/ ? 500000 : 2000000000)
    n++
    if ($4 < least - band || $5 > most + band) { print; bad++ }
  }
  END { if (n < 100 || bad) { print n + 0 " counters, outside: " bad + 0; exit 1 } }' "$TMP/joined" >"$TMP/outside"
verdict "what goes up and down is near theirs" $? "$TMP/outside"

# Constants, equal to /proc: numbered ones, and others as counter tracks (kB are bytes there as here).
bad=0
while read -r key value unit; do
  key=${key%:}
  [ "${unit:-}" != kB ] || value=$((value * 1024))
  got=$(query "$TMP/ours.trace" "select printf('%.0f', min(value)) as a, printf('%.0f', max(value)) as b, count(*) > 0 as n
    from counter c join counter_track t on c.track_id = t.id where t.name = '$key'")
  [ "$got" = "[{\"a\":\"$value\",\"b\":\"$value\",\"n\":1}]" ] || { echo "$key $value: $got"; bad=1; }
done <"$TMP/constant" >"$TMP/wrong"
[ "$bad" = 0 ] && [ -s "$TMP/constant" ]
verdict "what does not change is what /proc/meminfo says" $? "$TMP/wrong"

# What of a disk has no field is what /proc/diskstats said before, after, or in between.
query "$TMP/ours.trace" "select group_concat(line, char(10)) as n from (
  select g.name || ' ' || replace(t.name, ' ', '_') || printf(' %.0f %.0f', min(c.value), max(c.value)) as line
  from counter c join track t on c.track_id = t.id join track g on g.id = t.parent_id
  where t.name in ('read I/Os', 'read merges', 'write I/Os', 'write merges', 'discard I/Os', 'discard merges')
  group by t.id)" |
  node -e 'console.log(JSON.parse(require("fs").readFileSync(0, "utf8").trim())[0].n)' >"$TMP/disks"
awk 'BEGIN { split("read_I/Os read_merges x x write_I/Os write_merges x x x x x discard_I/Os discard_merges", name) }
  FILENAME ~ /disks.before$/ { for (i in name) low[$3 " " name[i]] = $(i + 3) }
  FILENAME ~ /disks.after$/ { for (i in name) high[$3 " " name[i]] = $(i + 3); disks += 6 }
  FILENAME ~ /disks$/ {
    k = $1 " " $2; n++
    if ($3 < low[k] || $4 > high[k] || !(k in low)) { print $0 ": " low[k] " to " high[k]; bad++ }
  }
  END { if (n != disks || bad) { print n " of " disks; exit 1 } }' \
  "$TMP/disks.before" "$TMP/disks.after" "$TMP/disks" >"$TMP/wrong"
verdict "what of disks has no field is what /proc/diskstats says" $? "$TMP/wrong"

# Every name of /proc/meminfo and /proc/vmstat is a counter.
{ sed 's/:.*//' /proc/meminfo; sed 's/ .*//' /proc/vmstat; } | LC_ALL=C sort -u >"$TMP/kernel"
query "$TMP/ours.trace" "select group_concat(name, char(10)) as n from (select distinct name from counter_track)" |
  node -e 'console.log(JSON.parse(require("fs").readFileSync(0, "utf8").trim())[0].n)' | LC_ALL=C sort -u >"$TMP/named"
LC_ALL=C comm -23 "$TMP/kernel" "$TMP/named" >"$TMP/unnamed"
[ "$(wc -l <"$TMP/kernel")" -gt 100 ] && [ ! -s "$TMP/unnamed" ]
verdict "all names of meminfo and vmstat are counters" $? "$TMP/unnamed"
exit $BAD
