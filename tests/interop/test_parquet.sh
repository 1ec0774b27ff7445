#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: none
#
# sonda export --parquet: a reader that knows nothing of sonda (hyparquet) finds every cell of the tables.
. "$(dirname "$0")/lib.sh"
[ -d "$PEERS/parquet/node_modules" ] || { echo "there is no hyparquet" >&2; exit 77; }

compare() { # NAME TRACE
  "$SONDA" export --parquet -o "$TMP/$1.parquet" "$2" >"$TMP/log" 2>&1 && "$SONDA" export --csv -o "$TMP/$1.csv" "$2" >>"$TMP/log" 2>&1
  verdict "$1: both exports" $? "$TMP/log"
  node tests/interop/compare_parquet.mjs "$PEERS/parquet" "$TMP/$1.parquet" "$TMP/$1.csv" >"$TMP/log" 2>&1
  [ $? = 0 ] && grep -q '^ok .* rows of .* are those of CSV' "$TMP/log"
  verdict "$1: every cell is that of the CSV file" $? "$TMP/log"
  query "$2" "select cast(to_realtime(min(ts)) as text) as least, cast(to_realtime(max(ts)) as text) as most, sum(to_realtime(ts) % 1000003) as n from sched" >"$TMP/real"
  tr -dc '0-9,\n' <"$TMP/real" | tr , ' ' | sed 's/^/# real_ns /' | diff - <(grep real_ns "$TMP/log") >"$TMP/diff"
  verdict "$1: real_ns is the time of trace_processor's to_realtime()" $? "$TMP/diff"
}

for trace in ring_losses generic_events; do
  compare "$trace" "tests/data/traces/$trace.pftrace"
done
# More rows than a page and a row group hold, names that are not UTF-8, values of all sizes.
python3 tests/page/make_trace.py "$TMP/large.pftrace" 20000
compare large "$TMP/large.pftrace"
"$SONDA" export --parquet -o "$TMP/again" "$TMP/large.pftrace" >"$TMP/log" 2>&1 && diff -r "$TMP/again" "$TMP/large.parquet" >>"$TMP/log" 2>&1
verdict "the same trace gives the same bytes" $? "$TMP/log"
"$SONDA" export --parquet --force -o "$TMP/again" "$TMP/large.pftrace" >"$TMP/log" 2>&1 && diff -r "$TMP/again" "$TMP/large.parquet" >>"$TMP/log" 2>&1
verdict "--force replaces a directory of Parquet files" $? "$TMP/log"
"$SONDA" export --parquet -o - "$TMP/large.pftrace" 2>"$TMP/log" | tar -xf - -C "$(mkdir "$TMP/tar" && echo "$TMP/tar")" 2>>"$TMP/log" &&
  diff -r "$TMP/tar" "$TMP/large.parquet" >>"$TMP/log"
verdict "the standard output gets the same files as a tar archive" $? "$TMP/log"
exit $BAD
