#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# sonda report findings: each finding on traces a little above its thresholds and below one of them (findings_trace.py); what was
# not recorded; files of the user, and mistakes in them.
. "$(dirname "$0")/../lib.sh"
needs_commands protoc python3
export LC_ALL=C XDG_CONFIG_HOME=$TMP/config
python3 tests/system/findings_trace.py "$TMP" || exit 1
for f in "$TMP"/*.above "$TMP"/*.below "$TMP"/*.waits "$TMP"/*.build; do
  protoc -Iprotos --encode=perfetto.protos.Trace protos/trace/trace.proto <"$f" >"$f.pf" || exit 1
done

found() { # TRACE ARGS...: the names of the findings, in their order
  "$SONDA" report findings --json "$@" 2>"$TMP/err" >"$TMP/json"
  sed 's/, "nothing_found".*//' "$TMP/json" | grep -o '"name": "[a-z_]*", "title"' | sed 's/"name": "\(.*\)", "title"/\1/'
}
fails() { # NAME REGEX ARGS...: a message, and no success
  local name=$1 regex=$2
  shift 2
  "$SONDA" report "$@" >"$TMP/out" 2>"$TMP/err"
  [ $? != 0 ] && grep -q -- "$regex" "$TMP/err"
  verdict "$name" $? "$TMP/err"
}

# ---- each finding
ls src/analyze/findings | sed -n '/^tables/d; s/\.sql$//p' >"$TMP/all"
ls "$TMP" | sed -n 's/\.above$//p' | diff - "$TMP/all" >"$TMP/diff"
verdict "there is a trace for each finding" $? "$TMP/diff"
while read -r name; do
  [ "$(found "$TMP/$name.above.pf")" = "$name" ]
  verdict "$name: above its thresholds it is the only finding" $? "$TMP/json" "$TMP/err"
  [ -z "$(found "$TMP/$name.below.pf")" ] && grep -q "\"nothing_found\": \[[^]]*\"$name\"" "$TMP/json"
  verdict "$name: below one of them it is none, and listed as such" $? "$TMP/json" "$TMP/err"
done <"$TMP/all"

found "$TMP/cpu_quota.waits.pf" | grep -qx cpu_quota && grep -q '"words": "app 10 was throttled for 300 ms, 37.5 %' "$TMP/json"
verdict "cpu_quota: by linux.waits, where the CPU is not idle" $? "$TMP/json" "$TMP/err"

found "$TMP/swap_reclaim.above.pf" | grep -qx swap_reclaim &&
  grep -q '"words": "some threads, most of all app 10, waited for memory for 297 ms (30' "$TMP/json"
verdict "swap_reclaim: the pressure of all threads, and who waited most" $? "$TMP/json" "$TMP/err"

[ -z "$(found "$TMP/runaway_forks.build.pf")" ]
verdict "runaway_forks: processes that exit are not still running, though they are not seen to be freed" $? "$TMP/json" "$TMP/err"

# ---- what is printed
T=$TMP/slow_disk.above.pf
"$SONDA" report findings "$T" >"$TMP/got" 2>"$TMP/err"
sed -n 2p "$TMP/got" | grep -qx ' 26.4 %  Slow disk: 12 write requests to 8:0 took 22.0 ms on average; the slowest took 22.0 ms'
verdict "the sentence has the values of the first row" $? "$TMP/got" "$TMP/err"
grep -qF "  (sonda report io $T)" "$TMP/got" && grep -qx '8:0     write        12  48 KiB     26.4  22.0 ms  22.0 ms  22.0 ms  0.001000 s  app 10' "$TMP/got"
verdict "the command that shows more, and the evidence" $? "$TMP/got"
grep -qx '  TCP loss                       lacks event tcp/tcp_retransmit_skb; sonda record net' "$TMP/got"
verdict "what was not recorded, and the words that record it" $? "$TMP/got"
python3 - "$TMP/slow_disk.above.pf" "$SONDA" >"$TMP/got" 2>&1 <<'PY'
import json, subprocess, sys
d = json.loads(subprocess.check_output([sys.argv[2], "report", "findings", "--json", sys.argv[1]]))
assert list(d) == ["report", "start_ts", "empty", "findings", "nothing_found", "not_recorded"], list(d)
f = d["findings"][0]
assert list(f) == ["name", "title", "share_pct", "words", "more", "thresholds", "rows"], list(f)
assert f["thresholds"][0] == {"column": "share_pct", "min": 10, "of": "of the window with an outstanding request"}, f["thresholds"]
assert f["rows"][0]["mean_ns"] == 22000000 and f["rows"][0]["share_pct"] == f["share_pct"], f["rows"]
assert all(list(n) == ["name", "title", "lacks", "record"] for n in d["not_recorded"])
assert len(d["findings"]) + len(d["nothing_found"]) + len(d["not_recorded"]) == 17
PY
verdict "--json: its keys" $? "$TMP/got"
"$SONDA" report findings --csv "$T" 2>"$TMP/err" | tr -d '\r' >"$TMP/got"
sed -n 1p "$TMP/got" | grep -q '^# Slow disk: 12 write' && sed -n 2p "$TMP/got" | grep -q '^device,op,requests,size_bytes,share_pct,'
verdict "--csv" $? "$TMP/got" "$TMP/err"
"$SONDA" report findings "$TMP/slow_disk.below.pf" >"$TMP/got" 2>"$TMP/err" && sed -n 1p "$TMP/got" | grep -qx 'No finding'
verdict "a trace without a finding is no error" $? "$TMP/got" "$TMP/err"
[ -z "$(found -p app "$TMP/cpu_neighbour.above.pf" --from 0.8)" ]
verdict "a window has the evidence within it only" $? "$TMP/json"
[ -z "$(found -p hog "$TMP/cpu_neighbour.above.pf")" ]
verdict "-p: troubles of these threads only" $? "$TMP/json"

# ---- files of the user
finding() { # FILE LINES...
  printf '%s\n' "${@:2}" >"$1"
}
mkdir -p "$TMP/mine" "$XDG_CONFIG_HOME/sonda/findings"
head=('-- @title Many calls' '-- @threshold share_pct 5 of the calls' '-- @words {name} {n} times')
finding "$TMP/mine/many_calls.sql" "${head[@]}" '-- @needs table slice' \
  "SELECT name, count(*) AS n, 50.0 AS share_pct FROM slice GROUP BY name"
"$SONDA" report findings --file "$TMP/mine/many_calls.sql" "$TMP/busy_polling.above.pf" >"$TMP/got" 2>"$TMP/err"
sed -n 3p "$TMP/got" | grep -qx ' 50.0 %  Many calls: sys_epoll_wait 2300 times'
verdict "--file: a finding of the user, ordered with the others" $? "$TMP/got" "$TMP/err"
finding "$TMP/mine/slow_disk.sql" "${head[@]}" "SELECT 'mine' AS name, 1 AS n, 4.9 AS share_pct"
[ -z "$(found --file "$TMP/mine" "$T")" ]
verdict "--file: a directory; a finding of a built-in name replaces that" $? "$TMP/json" "$TMP/err"
cp "$TMP/mine/slow_disk.sql" "$XDG_CONFIG_HOME/sonda/findings"
[ -z "$(found "$T")" ]
verdict "findings in the user's directory are used" $? "$TMP/json" "$TMP/err"
rm "$XDG_CONFIG_HOME/sonda/findings/slow_disk.sql"

bad=$TMP/bad.sql
finding "$bad" "${head[@]}" '' 'SELECT 1 AS share_pct,' '  nosuch AS n FROM slice'
fails "a mistake in SQL has the file and the line" "bad.sql:[56]: no such column: nosuch" findings --file "$bad" "$T"
finding "$bad" "${head[@]}" '-- @nosuch x' 'SELECT 1'
fails "an unknown word" "bad.sql:4: unknown keyword @nosuch" findings --file "$bad" "$T"
finding "$bad" "${head[@]:0:2}" 'SELECT 1'
fails "a word that is missing" "bad.sql:1: the file contains no line '-- @words ...'" findings --file "$bad" "$T"
finding "$bad" '-- @threshold share_pct many' 'SELECT 1'
fails "a threshold that is no number" "bad.sql:1: @threshold must be COLUMN MINIMUM" findings --file "$bad" "$T"
finding "$bad" '-- @needs events x' 'SELECT 1'
fails "a need of an unknown kind" "bad.sql:1: @needs must be " findings --file "$bad" "$T"
finding "$bad" "${head[@]}" 'SELECT 1 AS n'
fails "a column that is missing" "bad.sql: the SELECT has no column 'share_pct'" findings --file "$bad" "$T"
finding "$bad" "${head[@]}" 'SELECT 1 AS n, 50 AS share_pct;' 'DELETE FROM slice'
fails "a second statement" "bad.sql:[45]: a finding must be a single SELECT" findings --file "$bad" "$T"
finding "$bad" "${head[@]}" '' 'DELETE FROM slice'
fails "a statement that is no SELECT" "bad.sql:5: near \"DELETE\": syntax error" findings --file "$bad" "$T"
finding "$bad" "${head[@]}"
fails "no statement" "bad.sql:1: the file contains no SELECT" findings --file "$bad" "$T"
fails "a file that is not there" "cannot read $TMP/none.sql: No such file" findings --file "$TMP/none.sql" "$T"
fails "--file of another report" "is an option of sonda report findings" cpu --file "$bad" "$T"
exit $BAD
