#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: parquet.sh TRACE [TABLE...]
#
# What sonda export --parquet costs: for each table of a trace the CPU time of a row, without the import, and the bytes of the
# file divided by those of DuckDB's own writer for the same rows (zstd; its versions 1 and 2 of the format).
cd "$(dirname "$0")/.." || exit 1
TMP=$(mktemp -d)
trap '[ "$BASHPID" != $$ ] || rm -rf "$TMP"' EXIT
PEERS=$(tests/interop/peers.sh) || exit $?
TRACE=$1 TABLES=("${@:2}")
[ $# -gt 1 ] || TABLES=(sched thread_state slice counter ftrace_event args instant counters flow thread track)
"${BUILD:-build}/bench/parquet_tables" "$TRACE" "$TMP/ours" "${TABLES[@]}" >"$TMP/costs" || exit 1
while read -r table rows _ ns _; do
  ours=$TMP/ours/$table.parquet ratios=
  for version in V1 V2; do
    echo "COPY (SELECT * FROM read_parquet('$ours')) TO '$TMP/$version' (FORMAT parquet, CODEC zstd, PARQUET_VERSION $version)" >"$TMP/copy.sql"
    node tests/interop/duckdb_query.mjs "$PEERS/duckdb" "$TMP/copy.sql" >"$TMP/log" 2>&1 || { cat "$TMP/log" >&2; exit 1; }
    ratios+=" $(stat -c %s "$ours" "$TMP/$version" | paste -sd' ' | awk '{ printf "%.3f", $1 / $2 }')"
  done
  awk -v t="$table" -v rows="$rows" -v ns="$ns" -v bytes="$(stat -c %s "$ours")" -v r="$ratios" 'BEGIN { split(r, ratio, " ")
    printf "%-16s %9d rows %7.1f ns a row %6.2f million rows/s %6.2f bytes a row, of DuckDB V1 %s, V2 %s\n", t, rows, ns, 1e3 / ns, bytes / rows, ratio[1], ratio[2] }'
done <"$TMP/costs"
