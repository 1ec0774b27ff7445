#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: none
#
# share/sonda/queries: the statements for DuckDB run on what sonda ship makes, and find what sonda sql finds; also beside files of a
# later schema, and without opening those of other days.
. "$(dirname "$0")/lib.sh"
[ -d "$PEERS/duckdb/node_modules" ] || { echo "there is no DuckDB" >&2; exit 77; }
QUERIES=share/sonda/queries/duckdb

# A bucket, as a directory: three machines, of which one lost events and one has a file that is no trace.
ship() { # MACHINE FILE
  local entry word name key
  mkdir "$TMP/$1" && cp "$2" "$TMP/$1/" && touch -d @1700000000 "$TMP/$1"/*
  "$SONDA" ship --once --machine "$1" --from "$TMP/$1" "$TMP/$1.spool" >"$TMP/log" 2>&1 || return
  for entry in "$TMP/$1.spool"/ready/*; do
    while read -r word _ _ name key; do
      [ "$word" != file ] || { mkdir -p "$TMP/store/$(dirname "$key")" && cp "$entry/$name" "$TMP/store/$key"; }
    done <"$entry/list"
  done
}
echo no trace >"$TMP/none.pftrace"
python3 tests/page/make_trace.py "$TMP/large.pftrace" 3000
ship web-1 tests/data/traces/kernel_6.1.pftrace && ship web-2 tests/data/traces/ring_losses.pftrace &&
  ship web-3 "$TMP/large.pftrace" && ship web-4 "$TMP/none.pftrace"
verdict "four machines are collected" $? "$TMP/log"

query() { # NAME [VARIABLE=VALUE]...
  node tests/interop/duckdb_query.mjs "$PEERS/duckdb" "$QUERIES/$1.sql" store="$TMP/store" day='*' "${@:2}" >"$TMP/$1.json" 2>"$TMP/log"
}
for name in waits_by_program noisy_neighbours slow_disks losses; do
  query $name
  verdict "$name runs" $? "$TMP/log"
done
query regressions since=2026-01-01
verdict "regressions runs" $? "$TMP/log"

"$SONDA" sql --json "$TMP/large.pftrace" "select coalesce(p.name, t.name) program, count(*) waits, sum(s.dur) total, max(s.dur) longest, percentile(s.dur, 50) p50
  from thread_state s join thread t using (utid) left join process p on p.upid = t.upid
  where s.state in ('R', 'R+') and s.dur > 0 group by 1 having count(*) >= 20" >"$TMP/expected.json"
python3 - "$TMP" <<'END' >"$TMP/log" 2>&1
import json, sys
load = lambda name: json.load(open(f"{sys.argv[1]}/{name}.json"))
ours = {r["program"]: r for r in load("expected")}
theirs = [r for r in load("waits_by_program") if r["machine"] == "web-3"]
assert theirs and len(theirs) <= 50, theirs
for r in theirs:
    o = ours[r["program"]]
    assert int(r["waits"]) == o["waits"] and abs(r["total_ms"] * 1e6 - o["total"]) < 1e3 and round(r["max_ms"] * 1e6) == o["longest"], (r, o)
    assert abs(r["p50_ms"] * 1e6 / o["p50"] - 1) < 0.07 or o["waits"] < 100, (r, o)
END
verdict "the waits are those of sonda sql" $? "$TMP/log"
python3 - "$TMP" <<'END' >"$TMP/log" 2>&1
import json, sys
rows = json.load(open(sys.argv[1] + "/losses.json"))
lost = {(r["machine"], r["lost"]) for r in rows}
assert ("web-2", "ftrace_cpu_has_data_loss") in lost, lost
assert any(m == "web-4" and what.startswith("tables: trace.pftrace is text") for m, what in lost), lost
assert not any(m == "web-1" for m, _ in lost), lost
END
verdict "losses are of the machine that lost events, and of the file that is no trace" $? "$TMP/log"

# A machine has a later version: its tables have further columns, at their end.
day=$(for directory in "$TMP"/store/v1/program_wait_length/date=*; do [ ! -d "$directory/machine=web-3" ] || echo "${directory##*date=}"; done)
for table in program_wait_length stats; do
  mkdir -p "$TMP/store/v1/$table/date=$day/machine=a-later"
  cat >"$TMP/later.sql" <<SQL
COPY (SELECT * EXCLUDE (date, machine) REPLACE ('later' AS trace_uuid), 7 AS later FROM
  read_parquet(getvariable('store') || '/v1/$table/date=$day/machine=web-3/*.parquet', hive_partitioning = true))
TO '$TMP/store/v1/$table/date=$day/machine=a-later/later.parquet' (FORMAT parquet, KV_METADATA {'sonda.schema': '2'})
SQL
  node tests/interop/duckdb_query.mjs "$PEERS/duckdb" "$TMP/later.sql" store="$TMP/store" >"$TMP/log" 2>&1 || break
done
verdict "tables of schema 2 are made" $? "$TMP/log"
# What other days have is not opened: it could not be read.
mkdir -p "$TMP/store/v1/program_wait_length/date=1999-01-01/machine=web-1"
echo no table >"$TMP/store/v1/program_wait_length/date=1999-01-01/machine=web-1/x.parquet"
query waits_by_program day="$day" && python3 - "$TMP/waits_by_program.json" <<'END' >"$TMP/log" 2>&1
import json, sys
of = {m: sorted((r["program"], r["waits"], r["total_ms"], r["max_ms"]) for r in json.load(open(sys.argv[1])) if r["machine"] == m)
      for m in ("web-3", "a-later")}
assert of["web-3"] and of["web-3"] == of["a-later"], of
END
verdict "files of both schemas answer together; those of other days are not opened" $? "$TMP/log"
rm -r "$TMP"/store/v1/*/date=1999-01-01 "$TMP"/store/v1/*/date=*/machine=a-later
no_offenders "each statement names the day before the first wildcard" \
  "$(grep -hE "'/v1/" share/sonda/queries/*/*.sql | grep -vE "'/v1/[a-z_]+/date=' \\|\\| (getvariable\\('day'\\)|\\{day:String\\}) \\|\\| '/\\*")"
query waits_by_program

# The same questions to merged files.
for day in "$TMP"/store/v1/manifests/date=*; do
  "$SONDA" ship --compact "${day##*=}" --part 100kb "$TMP/store" >"$TMP/log" 2>&1 &&
    node tests/interop/compare_merged.mjs "$PEERS/duckdb" "$TMP/store" "${day##*=}" >"$TMP/compared" 2>&1
  verdict "the merged files of ${day##*=} have the same rows" $? "$TMP/log" "$TMP/compared"
done
sort_rows() { python3 -c 'import json, sys; print(*sorted(map(str, json.load(open(sys.argv[1])))), sep="\n")' "$1"; }
for name in waits_by_program losses; do
  sort_rows "$TMP/$name.json" >"$TMP/before"
  query $name store="$TMP/store/merged" && sort_rows "$TMP/$name.json" | diff "$TMP/before" - >"$TMP/diff"
  verdict "$name has the same answer from merged files" $? "$TMP/log" "$TMP/diff"
done
exit $BAD
