#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The JSON of the verbs: every key is in share/sonda/json-schema.json with its type, and every key of the last release is still
# there with its type (tests/data/json_contract). A new key is added with --write, which runs the same commands.
. "$(dirname "$0")/../lib.sh"
needs_commands protoc python3
export LC_ALL=C
SCHEMA=share/sonda/json-schema.json
outputs=()

# output NAME COMMAND...: keeps the JSON that it prints, if it prints some.
output() {
  local file=$TMP/out.${#outputs[@]}
  "$SONDA" "${@:2}" >"$file" 2>"$TMP/err"
  [ ! -s "$file" ] || outputs+=("$1=$file")
}

python3 tests/system/report_trace.py "$B/gen/fields.h" "$TMP/trace.pf" || exit 1
python3 tests/system/report_trace.py "$B/gen/fields.h" "$TMP/cgroups.pf" cgroup-waits || exit 1
python3 tests/system/report_trace.py "$B/gen/fields.h" "$TMP/histograms.pf" histograms || exit 1
(cd "$TMP" && mkdir findings && python3 "$OLDPWD/tests/system/findings_trace.py" findings) || exit 1
for f in "$TMP"/findings/*.above; do
  protoc -Iprotos --encode=perfetto.protos.Trace protos/trace/trace.proto <"$f" >"$f.pf" || exit 1
  output reports report --all --json=keys "$f.pf"
done
for trace in "$TMP/trace.pf" tests/data/traces/*.pftrace ${MORE_TRACES:-}; do
  output reports report --all --json=keys "$trace"
  output reports report --all --json=keys -p '*' "$trace"
  output info info --json "$trace"
done
# shellcheck disable=SC2013 # names have no blanks
for report in $(sed -n 's/^-- @order//p' src/analyze/report/reports.sql); do
  case $report in
  why) words=("$report" app) ;;
  findings | neighbours) continue ;; # below
  *) words=("$report") ;;
  esac
  output report report "${words[@]}" --json=keys "$TMP/trace.pf"
  for key in $(sed -n 's/^-- @by //p; s/^-- @each //p' "src/analyze/report/$report.sql" | tr ' ' '\n' | sort -u); do
    case $key in callers | callees) by="--$key=*" ;; *) by="--by=$key" ;; esac
    for trace in "$TMP/trace.pf" ${MORE_TRACES:-}; do
      output report report "${words[@]}" "$by" --json=keys "$trace"
    done
  done
done
{
  echo 'packet { trusted_packet_sequence_id: 1 system_info { num_cpus: 8 } } packet { trusted_packet_sequence_id: 2 machine_id: 77 system_info { num_cpus: 1 } }'
  for machine in 'trusted_packet_sequence_id: 1' 'trusted_packet_sequence_id: 2 machine_id: 77'; do
    echo "packet { $machine ftrace_events { cpu: 0 event { timestamp: 100 pid: 0 sched_switch { prev_pid: 0 next_comm: \"a\" next_pid: 10 } }"
    echo "event { timestamp: 900 pid: 10 sched_switch { prev_comm: \"a\" prev_pid: 10 prev_state: 1 next_pid: 0 } } } }"
  done
} | protoc -Iprotos --encode=perfetto.protos.Trace protos/trace/trace.proto >"$TMP/machines.pf" || exit 1
output machines report cpu --json=keys "$TMP/machines.pf"
python3 tests/system/vm_trace.py "$B/gen/fields.h" "$TMP/vm.pf" names || exit 1
output machines report why app --json=keys "$TMP/vm.pf"
output reports report --all --json=keys "$TMP/machines.pf"
output findings report findings --json=keys "$TMP/trace.pf"
output report report neighbours web --json=keys "$TMP/cgroups.pf"
output reports report --all --json=keys "$TMP/cgroups.pf"
output reports report --all --json=keys "$TMP/histograms.pf"
output diff diff --json "$TMP/trace.pf" "$TMP/trace.pf"
output list list --json
output list list presets --json
output list list sources --json
output list describe sched --json
output doctor doctor --json

if [ "${1:-}" = --write ]; then
  python3 tests/system/json_contract.py write $SCHEMA "${outputs[@]}"
  [ -e tests/data/json_contract ] || python3 tests/system/json_contract.py lines $SCHEMA >tests/data/json_contract
  exit
fi

python3 tests/system/json_contract.py check $SCHEMA "${outputs[@]}" >"$TMP/got" 2>&1
verdict "each key of ${#outputs[@]} outputs is in the schema with its type, and none is missing" $? "$TMP/got"

# Every table that is declared is in the schema, whether a trace here has it or not.
grep -o '"[a-z_]*"' $SCHEMA | tr -d '"' | sort -u >"$TMP/names"
sed -n 's/.*\.key = "\([a-z_]*\)".*/\1/p' "$B/gen/reports.c" | sort -u | comm -23 - "$TMP/names" >"$TMP/got"
[ ! -s "$TMP/got" ]
verdict "each table of src/analyze/report is in the schema" $? "$TMP/got"

python3 tests/system/json_contract.py lines $SCHEMA | sort >"$TMP/lines"
sort tests/data/json_contract | comm -23 - "$TMP/lines" >"$TMP/got"
[ ! -s "$TMP/got" ]
verdict "each key of the last release is there, with the same types" $? "$TMP/got"

# The checks see what they are for.
sed 's/"p99_ns": {"type": \["integer", "null"\]}/"p99_ns": {"type": ["null", "string"]}/' $SCHEMA >"$TMP/other"
! cmp -s $SCHEMA "$TMP/other" && ! python3 tests/system/json_contract.py check "$TMP/other" "${outputs[@]}" >"$TMP/got" 2>&1 &&
  grep -q 'tables.latency.waits_by_thread.p99_ns: has the type integer' "$TMP/got"
verdict "another type is seen" $? "$TMP/got"
sed 's/"behind": {[^}]*}, //; s/"behind", //' $SCHEMA >"$TMP/other"
! python3 tests/system/json_contract.py check "$TMP/other" "${outputs[@]}" >"$TMP/got" 2>&1 && grep -q 'the schema has no key behind' "$TMP/got" &&
  python3 tests/system/json_contract.py lines "$TMP/other" | sort | comm -23 <(sort tests/data/json_contract) - | grep -q "longest_waits.*behind"
verdict "a key that is gone is seen" $? "$TMP/got"

# ---- the form: one object, its tables by their keys
"$SONDA" report latency --json=keys "$TMP/trace.pf" >"$TMP/json" 2>"$TMP/err"
python3 - "$TMP/json" >"$TMP/got" 2>&1 <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))
assert list(d) == ["report", "start_ts", "tables", "empty"] and d["report"] == "latency" and d["empty"] is False, list(d)
t = d["tables"]["waits_by_thread"]
assert t["title"] == "Waits for a CPU, by thread" and list(t["rows"][0]) == t["columns"], t
assert "share_bar" not in d["tables"]["waits_by_length"]["columns"]
PY
verdict "--json=keys: key, title, columns and rows; no bars" $? "$TMP/got" "$TMP/err"
"$SONDA" report functions --json=keys "$TMP/trace.pf" >"$TMP/json" 2>"$TMP/err"
python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
assert d["empty"] is True and d["record"] == "stacks", d' "$TMP/json" >"$TMP/got" 2>&1
verdict "a report without data is empty, and says what to record" $? "$TMP/got" "$TMP/json"
"$SONDA" report --json=nosuch "$TMP/trace.pf" >"$TMP/got" 2>&1
[ $? = 2 ] && grep -q 'use --json or --json=keys' "$TMP/got"
verdict "another form is refused" $? "$TMP/got"
exit $BAD
