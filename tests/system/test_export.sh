#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# sonda export as a command: its forms, its files, its mistakes and their exit codes.
. "$(dirname "$0")/../lib.sh"
details() { cat "$TMP/out" "$TMP/err"; }
TRACE=tests/data/traces/ring_losses.pftrace
GENERIC=tests/data/traces/generic_events.pftrace

works() { # NAME ARGUMENT...
  "$SONDA" export "${@:2}" >"$TMP/out" 2>"$TMP/err"
  verdict "$1" $?
}
fails() { # NAME CODE TEXT ARGUMENT...
  "$SONDA" export "${@:4}" >"$TMP/out" 2>"$TMP/err" </dev/null
  [ $? = "$2" ] && grep -q -- "$3" "$TMP/err"
  verdict "$1" $?
}
mode_is() { # MODE PATH...
  local file
  for file in "${@:2}"; do [ "$(stat -c %a "$file")" = "$1" ] || return 1; done
}

# ---- SQLite ----

works "SQLite" --sqlite -o "$TMP/t.sqlite" "$TRACE"
python3 - "$SONDA" "$TRACE" "$TMP/t.sqlite" <<'END' >"$TMP/out" 2>&1
import json, sqlite3, subprocess, sys
sonda, trace, path = sys.argv[1:]
db = sqlite3.connect(path)
names = [r[0] for r in db.execute("select name from sqlite_master where type in ('table', 'view') order by name")]
rows = 0
queries = [f'select * from "{n}"' for n in names] + ["select t.name, sum(dur) from sched join thread t using (utid) group by 1 order by 1"]
said = subprocess.run([sonda, "sql", "--json", trace, *queries], capture_output=True, text=True, check=True).stdout
decoder, at = json.JSONDecoder(), 0
for q in queries:
    theirs = [list(r) for r in db.execute(q)]
    ours, at = decoder.raw_decode(said, at)
    at += len(said[at:]) - len(said[at:].lstrip())
    assert theirs == [list(r.values()) for r in ours], q
    rows += len(theirs)
for table in ("sched", "thread_state", "slice", "counter", "ftrace_event", "thread_track", "args", "metadata"):
    assert table in names, table
assert rows > 1000, rows
plan = str(db.execute("explain query plan select * from sched where ts > 5").fetchall())
assert "USING INDEX" in plan, plan
END
verdict "every table has the rows of sonda sql" $?
mode_is 600 "$TMP/t.sqlite"
verdict "only its owner can read it" $?

# ---- CSV ----

works "CSV" --csv -o "$TMP/t.csv" "$TRACE"
"$SONDA" sql --csv "$TRACE" "select * from sched" >"$TMP/out"
cmp "$TMP/out" "$TMP/t.csv/sched.csv" && [ -s "$TMP/t.csv/slice.csv" ] && [ -s "$TMP/t.csv/thread.csv" ]
verdict "a file is a table" $?
mode_is 700 "$TMP/t.csv" && mode_is 600 "$TMP"/t.csv/*
verdict "only its owner can read the directory" $?

# ---- JSON and folded stacks ----

works "JSON" --json -o "$TMP/t.json" "$TRACE"
python3 - "$TMP/t.json" "$("$SONDA" sql --csv "$TRACE" 'select (select count(*) from sched), (select count(*) from counter)' | tail -n 1 | tr -d '\r')" <<'END' >"$TMP/out" 2>&1
import json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
sched, counters = (int(n) for n in sys.argv[2].split(","))
assert sum(e.get("cat") == "sched" for e in events) == sched > 0
assert sum(e["ph"] == "C" for e in events) == counters
assert any(e["ph"] == "M" and e["args"]["name"] == "CPU 0" for e in events)
END
verdict "a JSON parser reads it: the scheduler, counters, names" $?
"$SONDA" export --json -o - "$TRACE" 2>"$TMP/err" | cmp - "$TMP/t.json"
verdict "to the standard output" $?
works "folded stacks of the scheduler" --folded sched -o "$TMP/t.folded" "$TRACE"
sum=$(awk '{ n += $NF } END { printf "%d", n }' "$TMP/t.folded")
[ "$sum" = "$("$SONDA" sql --csv "$TRACE" 'select sum(dur) from thread_state where dur > 0' | tail -n 1 | tr -d '\r')" ] &&
  grep -q ';Running [0-9]*$' "$TMP/t.folded"
verdict "their sum is the time of all states" $?
protoc -Iprotos --encode=perfetto.protos.Trace protos/trace/trace.proto <<'END' >"$TMP/nested" 2>"$TMP/err"
packet { trusted_packet_sequence_id: 1 sequence_flags: 1 timestamp: 1 track_descriptor { uuid: 1 thread { pid: 5 tid: 5 thread_name: "work;er" } } }
packet { trusted_packet_sequence_id: 1 timestamp: 100 track_event { type: 1 track_uuid: 1 name: "a" } }
packet { trusted_packet_sequence_id: 1 timestamp: 110 track_event { type: 1 track_uuid: 1 name: "b;c" } }
packet { trusted_packet_sequence_id: 1 timestamp: 130 track_event { type: 2 track_uuid: 1 } }
packet { trusted_packet_sequence_id: 1 timestamp: 160 track_event { type: 2 track_uuid: 1 } }
packet { trusted_packet_sequence_id: 1 timestamp: 170 track_event { type: 1 track_uuid: 1 name: "a" } }
packet { trusted_packet_sequence_id: 1 timestamp: 175 track_event { type: 2 track_uuid: 1 } }
END
works "folded stacks of slices" --folded slices -o "$TMP/nested.folded" "$TMP/nested"
sed 's/^[^;]*;//' "$TMP/nested.folded" | sort >"$TMP/out"
printf 'work,er 5;a 45\nwork,er 5;a;b,c 20\n' | cmp - "$TMP/out"
verdict "a slice's own time is without its children's" $?
# Slices that an older program wrote with their durations, in us.
long='legacy_event { phase: 88 duration_us: 9223372036854775 }'
protoc -Iprotos --encode=perfetto.protos.Trace protos/trace/trace.proto <<END >"$TMP/long" 2>"$TMP/err"
packet { trusted_packet_sequence_id: 1 sequence_flags: 1 timestamp: 1 track_descriptor { uuid: 1 thread { pid: 5 tid: 5 thread_name: "worker" } } }
packet { trusted_packet_sequence_id: 1 timestamp: 2000000 track_event { track_uuid: 1 name: "a" $long } }
packet { trusted_packet_sequence_id: 1 timestamp: 3000000 track_event { track_uuid: 1 name: "b" $long } }
END
works "folded stacks of slices whose ends are out of range" --folded slices -o "$TMP/long.folded" "$TMP/long"
sed 's/^[^;]*;//' "$TMP/long.folded" >"$TMP/out"
echo 'worker 5;a;b 9223372036854775000' | cmp - "$TMP/out"
verdict "they end last" $?

"$SONDA" export --folded stacks -o "$TMP/none.folded" "$TMP/long" >"$TMP/out" 2>"$TMP/err"
[ $? = 1 ] && [ ! -e "$TMP/none.folded" ] && grep -q 'long has no call-stack samples; record them with: sonda record stacks' "$TMP/err"
verdict "a trace without stacks: no file, and exit code 1" $? "$TMP/err"

# ---- files ----

cp "$TRACE" "$TMP/copy.pftrace"
works "the default name" --folded sched "$TMP/copy.pftrace"
[ "$(cat "$TMP/out")" = "$TMP/copy.folded" ] && cmp "$TMP/copy.folded" "$TMP/t.folded"
verdict "is that of the trace" $?
fails "an output that exists is not replaced" 1 'already exists; replace it with --force' --folded sched "$TMP/copy.pftrace"
fails "a directory that exists is not replaced" 1 'already exists' --csv -o "$TMP/t.csv" "$TRACE"
works "with --force an output is replaced" --force --folded sched "$TMP/copy.pftrace"
works "with --force a directory is replaced" --force --csv -o "$TMP/t.csv" "$GENERIC"
"$SONDA" sql --csv "$GENERIC" "select * from ftrace_event" | cmp - "$TMP/t.csv/ftrace_event.csv"
verdict "with --force a directory has the new tables" $?
touch "$TMP/t.csv/notes.txt"
fails "with --force a directory with other files is not replaced" 1 'files other than' --force --csv -o "$TMP/t.csv" "$TRACE"
[ -e "$TMP/t.csv/notes.txt" ] && "$SONDA" sql --csv "$GENERIC" "select * from ftrace_event" | cmp - "$TMP/t.csv/ftrace_event.csv"
verdict "a refused export leaves the directory as it is" $?
fails "a directory is not replaced by a file" 1 'is a directory' --force --json -o "$TMP/t.csv" "$TRACE"
for form in --json --sqlite --csv; do
  (ulimit -f 4; "$SONDA" export $form -o "$TMP/full" "$TRACE" >"$TMP/out" 2>"$TMP/err")
  [ $? = 1 ] && grep -q "cannot write $TMP/full" "$TMP/err" && [ ! -e "$TMP/full" ]
  verdict "a file that cannot be written: $form leaves nothing" $?
done
"$SONDA" export --json -o - "$TRACE" >/dev/full 2>"$TMP/err"
[ $? = 1 ] && grep -q 'No space left on device' "$TMP/err"
verdict "a full device is reported" $?
mkfifo "$TMP/slow"
"$SONDA" export --sqlite -o "$TMP/ended" - <"$TMP/slow" >"$TMP/out" 2>"$TMP/err" &
pid=$!
exec 7>"$TMP/slow"
for ((i = 0; i < 600; i++)); do ls "$TMP"/.ended.* >/dev/null 2>&1 && break; sleep 0.1; done
kill -TERM $pid
wait $pid
[ $? = 143 ] && [ ! -e "$TMP/ended" ]
verdict "a signal ends it" $?
exec 7>&-
find "$TMP" -name '.*' >"$TMP/out" && [ ! -s "$TMP/out" ]
verdict "nothing is left half written" $?

# ---- mistakes ----

fails "no form" 2 'no output format' "$TRACE"
fails "two forms" 2 'only one output format can be given' --json --csv "$TRACE"
fails "no file" 2 'FILE is missing' --json
fails "unknown stacks" 2 'slices, sched, stacks, waits or wakers, not cpu' --folded cpu "$TRACE"
if "$SONDA" export --csv -o - "$TRACE" >/dev/full 2>"$TMP/err"; then false; else grep -q 'No space left' "$TMP/err"; fi
verdict "a full disk behind a tar archive" $?
fails "a database on the standard output" 2 'cannot be written to standard output' --sqlite -o - "$TRACE"
fails "the standard input without a name" 2 'needs -o FILE' --json -
fails "no such trace" 1 'No such file' --json -o "$TMP/x" "$TMP/none"
echo text >"$TMP/text"
fails "not a trace" 1 'not a Perfetto trace' --json -o "$TMP/x" "$TMP/text"
fails "a place that is not there" 1 'cannot write' --json -o "$TMP/no/x" "$TRACE"
fails "an unknown option" 2 'did you mean --sqlite' --sqlte "$TRACE"
[ ! -e "$TMP/x" ]
verdict "a mistake writes nothing" $?
echo "1..$N"
exit $BAD
