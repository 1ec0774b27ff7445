#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# sonda cut and sonda split as commands. The union of the parts has the rows of the whole, with their names, times and
# arguments, of traces with everything that packets leave to earlier ones.
. "$(dirname "$0")/../lib.sh"
details() { cat "$TMP/out" "$TMP/err"; }
TRACE=tests/data/traces/ring_losses.pftrace

fails() { # NAME CODE TEXT ARGUMENT...
  "$SONDA" "${@:4}" >"$TMP/out" 2>"$TMP/err" </dev/null
  [ $? = "$2" ] && grep -q -- "$3" "$TMP/err"
  verdict "$1" $?
}
encode() { # FILE: a trace of text, compressed packets in the place of lines "compress { ... }"
  protoc -Iprotos --encode=perfetto.protos.Trace protos/trace/trace.proto >"$1" 2>"$TMP/err"
}

# ---- a trace with all that parts need of earlier packets ----

state() { # SEQUENCE MACHINE: interned names, defaults, a clock of the sequence in ten nanoseconds, from 1000 on
  cat <<END
packet { trusted_packet_sequence_id: $1 $2 sequence_flags: 1 timestamp: 1000
  trace_packet_defaults { timestamp_clock_id: 64 track_event_defaults { track_uuid: $1 } }
  interned_data { event_names { iid: 1 name: "one" } }
  clock_snapshot { clocks { clock_id: 6 timestamp: 1000 } clocks { clock_id: 64 timestamp: 100 unit_multiplier_ns: 10 is_incremental: true } } }
packet { trusted_packet_sequence_id: $1 $2 timestamp: 0 timestamp_clock_id: 6 track_descriptor { uuid: $1 thread { pid: $1 tid: $1 thread_name: "thread$1" } } }
END
}
slice() { # SEQUENCE MACHINE NAME DELTA [MORE]
  echo "packet { trusted_packet_sequence_id: $1 $2 sequence_flags: 2 timestamp: $4 track_event { type: 1 name_iid: $3 } ${5:-} }"
  echo "packet { trusted_packet_sequence_id: $1 $2 sequence_flags: 2 timestamp: 1 track_event { type: 2 } }"
}
{
  echo 'packet { trusted_packet_sequence_id: 1 clock_snapshot { primary_trace_clock: 6 clocks { clock_id: 6 timestamp: 900 } clocks { clock_id: 3 timestamp: 100 } clocks { clock_id: 5 timestamp: 500 } } }'
  echo 'packet { trusted_packet_sequence_id: 1 timestamp: 950 service_event { tracing_started: true } }'
  echo 'packet { trusted_packet_sequence_id: 1 trace_config { unique_session_name: "cut me" } }'
  echo 'packet { trusted_packet_sequence_id: 1 system_info { utsname { release: "6.1.0" machine: "x86_64" } } }'
  echo 'packet { trusted_packet_sequence_id: 8 timestamp: 1000 process_tree { processes { pid: 20 ppid: 1 cmdline: "/bin/worker" } threads { tid: 21 tgid: 20 name: "helper" } } }'
  state 2 ""
  state 3 "machine_id: 7"
  for i in 1 2 3 4 5 6 7 8; do
    slice 2 "" 1 8
    slice 3 "machine_id: 7" 1 8 "$([ $i != 3 ] || echo 'interned_data { event_names { iid: 2 name: "two" } }')"
    [ $i -lt 4 ] || slice 3 "machine_id: 7" 2 3
    at=$((1000 + i * 100))
    # Every bundle crosses a cut at a multiple of 50.
    echo "packet { trusted_packet_sequence_id: 4 ftrace_events { cpu: 0 previous_bundle_end_timestamp: $((at - 40))
      $([ $i != 1 ] || echo 'generic_event_descriptors { field_id: 65540 group_name: "my" event_descriptor: "\n\004mine\022\t\n\005value\030\001\050\003" }')
      $([ $i != 5 ] || echo "lost_events: true lost_event_count: 9 lost_ranges { begin_timestamp: $((at - 35)) end_timestamp: $((at - 30)) event_count: 9 }")
      event { timestamp: $((at - 30)) pid: 21 print { ip: 1 buf: \"C|20|level|$i\n\" } }
      event { timestamp: $((at + 30)) pid: 21 print { ip: 1 buf: \"C|20|level|-$i\n\" } }
      compact_sched { intern_table: \"helper\" intern_table: \"other\"
        switch_timestamp: $((at - 25)) switch_timestamp: 50 switch_prev_state: 1 switch_prev_state: 1
        switch_next_pid: 21 switch_next_pid: 30 switch_next_prio: 120 switch_next_prio: 110 switch_next_comm_index: 0 switch_next_comm_index: 1
        waking_timestamp: $((at - 20)) waking_pid: 30 waking_target_cpu: 0 waking_prio: 110 waking_comm_index: 1 waking_common_flags: 1 } } }"
    # A ring with another clock: 400 behind.
    echo "packet { trusted_packet_sequence_id: 5 ftrace_events { cpu: 1 ftrace_clock: FTRACE_CLOCK_MONO_RAW
      event { timestamp: $((at - 430)) pid: 21 sched_switch { prev_comm: \"helper\" prev_pid: 21 prev_prio: 120 prev_state: 1 next_comm: \"third\" next_pid: 31 next_prio: 120 } }
      event { timestamp: $((at - 370)) pid: 31 sched_switch { prev_comm: \"third\" prev_pid: 31 prev_prio: 120 prev_state: 1 next_comm: \"helper\" next_pid: 21 next_prio: 120 } } } }"
    echo "packet { trusted_packet_sequence_id: 6 timestamp: $((at - 800)) timestamp_clock_id: 3 sys_stats { meminfo { key: 1 value: $i } } }"
    echo "packet { trusted_packet_sequence_id: 8 timestamp: $at process_stats { processes { pid: 20 vm_rss_kb: $i } } }"
  done
  # A gap: events that need the state are dropped from here to the next clear.
  slice 2 "" 1 1 | sed '1s/sequence_flags: 2/sequence_flags: 2 previous_packet_dropped: 1/'
  state 2 "" | sed 's/timestamp: 1000 }/timestamp: 1900 }/; s/timestamp: 1000$/timestamp: 1900/'
  slice 2 "" 1 3
} | encode "$TMP/hand"
verdict "protoc encodes a trace" $?
python3 - "$TMP/hand" "$TMP/compressed" <<'END' >"$TMP/out" 2>"$TMP/err"
import sys, zlib
data = open(sys.argv[1], "rb").read()
def varint(n):
    out = b""
    while n >= 128:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])
def packets():
    at = 0
    while at < len(data):
        begin, at, n, shift = at, at + 1, 0, 0
        while True:
            b = data[at]
            n, shift, at = n | (b & 127) << shift, shift + 7, at + 1
            if b < 128:
                break
        at += n
        yield data[begin:at]
all_packets = list(packets())
with open(sys.argv[2], "wb") as f:
    for i in range(0, len(all_packets), 16):
        z = zlib.compress(b"".join(all_packets[i:i + 16]))
        packet = varint(50 << 3 | 2) + varint(len(z)) + z
        f.write(b"\x0a" + varint(len(packet)) + packet)
END
verdict "a trace with compressed packets is made" $?
for name in merged_tracks equal_times machines legacy_events; do
  # A track without a name has the name of the first event that a part has of it.
  sed 's/{ uuid: 44 /&name: "forty-four" /' tests/interop/sql_traces/$name.txtpb | encode "$TMP/$name"
  verdict "protoc encodes $name" $?
done

# Times, thread times and counters as differences: of one sequence with a clear and a gap, and of one whose counters come
# in the defaults, with values that go back in time.
{
  echo 'packet { trusted_packet_sequence_id: 1 clock_snapshot { primary_trace_clock: 6 clocks { clock_id: 6 timestamp: 900 } clocks { clock_id: 3 timestamp: 400 } } }'
  for track in 'uuid: 70 name: "ints"' 'uuid: 71 name: "doubles"' 'uuid: 72 name: "total"' 'uuid: 73 name: "scaled"'; do
    case $track in *total*) how= ;; *scaled*) how='is_incremental: true unit_multiplier: 1000' ;; *) how='is_incremental: true' ;; esac
    echo "packet { trusted_packet_sequence_id: 1 timestamp: 950 track_descriptor { $track counter { $how } } }"
  done
  old() { # FLAGS
    echo "packet { trusted_packet_sequence_id: 2 $1 thread_descriptor { pid: 20 tid: 21 thread_name: \"old\" reference_timestamp_us: 3 reference_thread_time_us: 100 reference_thread_instruction_count: 1000 } }"
  }
  old "sequence_flags: 1"
  for i in 1 2 3 4 5 6 7 8 9; do
    [ $i != 4 ] || old "sequence_flags: 1"
    [ $i != 6 ] || echo 'packet { trusted_packet_sequence_id: 2 previous_packet_dropped: 1 sequence_flags: 2 track_event { timestamp_delta_us: 1 type: 3 name: "lost" } }'
    [ $i != 7 ] || old "sequence_flags: 1"
    echo "packet { trusted_packet_sequence_id: 2 sequence_flags: 2 track_event { timestamp_delta_us: 1 thread_time_delta_us: $i thread_instruction_count_delta: 1$i type: 1 name: \"old $i\" } }"
    echo "packet { trusted_packet_sequence_id: 2 sequence_flags: 2 track_event { timestamp_absolute_us: $((i + 4)) thread_time_absolute_us: $((200 + i)) type: 2 } }"
    [ $i != 1 ] || echo 'packet { trusted_packet_sequence_id: 3 timestamp: 950 sequence_flags: 1 trace_packet_defaults { track_event_defaults { track_uuid: 70 extra_counter_track_uuids: 70 extra_counter_track_uuids: 72 extra_double_counter_track_uuids: 71 } } }'
    [ $i != 5 ] || echo 'packet { trusted_packet_sequence_id: 3 timestamp: 950 sequence_flags: 1 trace_packet_defaults { track_event_defaults { track_uuid: 70 extra_counter_track_uuids: 73 extra_counter_track_uuids: 70 extra_double_counter_track_uuids: 71 } } }'
    at=$((4000 + i * 300))
    echo "packet { trusted_packet_sequence_id: 3 timestamp: $at sequence_flags: 2 track_event { type: 4 counter_value: -$i } }"
    echo "packet { trusted_packet_sequence_id: 3 timestamp: $((at - 450)) sequence_flags: 2 track_event { type: 3 name: \"with counters\" track_uuid: 0 extra_counter_values: $i extra_counter_values: 5 extra_double_counter_values: 0.$i } }"
    echo "packet { trusted_packet_sequence_id: 3 timestamp: $((at + 100)) sequence_flags: 2 track_event { type: 4 track_uuid: 71 double_counter_value: 1.5 } }"
  done
} | encode "$TMP/differences"
verdict "protoc encodes values as differences" $?

union_is_whole() { # NAME WHOLE PART...
  python3 - "$SONDA" "${@:2}" <<'END' >"$TMP/out" 2>"$TMP/err"
import collections, json, subprocess, sys
sonda, whole, *parts = sys.argv[1:]
queries = [
    """select s.ts, s.name, s.category, s.thread_ts, s.thread_instruction_count, t.name, t.type, h.name, h.tid, p.name, t.machine_id, (select group_concat(a.key || a.display_value) from args a
       where a.arg_set_id = s.arg_set_id) from slice s join __intrinsic_track t on t.id = s.track_id left join thread h on h.utid = t.utid
       left join process p on p.upid = ifnull(t.upid, h.upid)""",
    "select c.ts, c.value, t.name, t.type, t.cpu, p.name, p.pid from counter c join __intrinsic_track t on t.id = c.track_id left join process p on p.upid = t.upid",
    "select s.ts, s.cpu, h.name, h.tid, p.name, s.priority from sched s join thread h using (utid) left join process p using (upid)",
    """select e.ts, e.name, e.cpu, h.tid, h.name, p.name, (select group_concat(a.key || a.display_value) from args a where a.arg_set_id = e.arg_set_id)
       from ftrace_event e join thread h using (utid) left join process p using (upid)""",
    """select name, idx, value from stats where severity in ('error', 'data_loss') and value > 0 and name not in ('ftrace_cpu_has_data_loss', 'invalid_clock_snapshots')
       and name not like 'track_descriptor%'""",
    "select t.ts, h.tid, t.state from thread_state t join thread h using (utid)",
]
def rows(trace):
    said = subprocess.run([sonda, "sql", "--json", trace, *queries], capture_output=True, text=True, check=True).stdout
    decoder, at, result = json.JSONDecoder(), 0, []
    for _ in queries:
        value, at = decoder.raw_decode(said, at)
        at += len(said[at:]) - len(said[at:].lstrip())
        result.append(collections.Counter(tuple(r.values()) for r in value))
    counts = collections.Counter()
    for (*stat, value), n in result[4].items():
        counts[tuple(stat)] += value * n
    result[4] = counts
    return result
expected = rows(whole)
union = [collections.Counter() for _ in queries]
for part in parts:
    for i, r in enumerate(rows(part)):
        union[i] += r
print([sum(c.values()) for c in expected])
for i in range(5):
    missing, more = expected[i] - union[i], union[i] - expected[i]
    if i == 1: # a part begins with the values that its counters had
        more = [(ts, value, *track) for ts, value, *track in more
                if max(((r[0], r[1]) for r in expected[1] if list(r[2:]) == track and r[0] < ts), default=(0, None))[1] != value]
    for r in list(missing)[:5]:
        print("missing", r)
    for r in list(more)[:5]:
        print("more", r)
    if missing or more:
        sys.exit(1)
# What a thread does is not known in a part before its first switch: a waking that the whole ignores may count.
more = union[5] - expected[5]
if any(state != "R" for ts, tid, state in more):
    print("states", list(more)[:5])
    sys.exit(1)
sys.exit(not sum(expected[i].total() for i in range(4)))
END
  verdict "$1" $?
}

for trace in hand compressed; do
  "$SONDA" split --every 50ns -o "$TMP/$trace-50" "$TMP/$trace" >"$TMP/out" 2>"$TMP/err"
  [ $? = 0 ] && [ "$(wc -l <"$TMP/out")" -gt 14 ]
  verdict "$trace: --every makes a file of each stretch" $?
  union_is_whole "$trace: the union of parts of 50 ns is the whole" "$TMP/$trace" "$TMP/$trace"-50.*
  "$SONDA" split --size 2kb -o "$TMP/$trace-2k" "$TMP/$trace" >"$TMP/out" 2>"$TMP/err"
  union_is_whole "$trace: the union of parts by size is the whole" "$TMP/$trace" "$TMP/$trace"-2k.*
done
{
  "$SONDA" cut --to 333ns -o "$TMP/cut1" "$TMP/hand" && "$SONDA" cut --from 333ns --to 612ns -o "$TMP/cut2" "$TMP/hand" &&
    "$SONDA" cut --from 612ns -o "$TMP/cut3" "$TMP/hand"
} >"$TMP/out" 2>&1
union_is_whole "three cuts are the whole" "$TMP/hand" "$TMP"/cut[123]
{ "$SONDA" split --every 7ns -o "$TMP/m" "$TMP/merged_tracks" && "$SONDA" split --every 1ns -o "$TMP/e" "$TMP/equal_times"; } >"$TMP/out" 2>&1
union_is_whole "tracks" "$TMP/merged_tracks" "$TMP"/m.*
union_is_whole "equal times" "$TMP/equal_times" "$TMP"/e.*
"$SONDA" split --every 90us -o "$TMP/l" "$TMP/legacy_events" >"$TMP/out" 2>&1
union_is_whole "events of old programs" "$TMP/legacy_events" "$TMP"/l.*
for size in 150ns 1us 3us; do
  "$SONDA" split --every $size -o "$TMP/d-$size" "$TMP/differences" >"$TMP/out" 2>&1
  [ "$(wc -l <"$TMP/out")" -gt 3 ]
  verdict "values as differences: files of $size" $?
  union_is_whole "times and counters that are recorded as differences, in parts of $size" "$TMP/differences" "$TMP/d-$size".*
done
"$SONDA" split --every 500ns -o "$TMP/a" "$TMP/machines" >"$TMP/out" 2>&1
[ "$(wc -l <"$TMP/out")" -gt 4 ]
verdict "two machines with different clocks: several files" $?
union_is_whole "two machines with different clocks" "$TMP/machines" "$TMP"/a.*
"$SONDA" split --every 300us -o "$TMP/r" "$TRACE" >"$TMP/out"
[ "$(wc -l <"$TMP/out")" -gt 2 ]
verdict "a recording: several files" $?
union_is_whole "a recording with losses" "$TRACE" "$TMP"/r.*

# Totals count from the start of the recording. Their times are of a clock that is 500 behind; the second process begins later.
{
  echo 'packet { trusted_packet_sequence_id: 1 clock_snapshot { primary_trace_clock: 6 clocks { clock_id: 6 timestamp: 900 } clocks { clock_id: 3 timestamp: 400 } } }'
  echo 'packet { trusted_packet_sequence_id: 2 timestamp: 1000 track_event { type: 3 name: "begin" } sequence_flags: 1 }'
  echo 'packet { trusted_packet_sequence_id: 3 timestamp: 500 sequence_flags: 1 trace_packet_defaults { timestamp_clock_id: 3 } }'
  for pid in 20 30; do
    echo "packet { trusted_packet_sequence_id: 3 timestamp: 500 track_descriptor { uuid: $pid process { pid: $pid process_name: \"p$pid\" } } }"
    echo "packet { trusted_packet_sequence_id: 3 timestamp: 500 track_descriptor { uuid: 7$pid parent_uuid: $pid name: \"page faults\" counter { } } }"
  done
  for i in 1 2 3 4 5 6 7 8 9; do
    echo "packet { trusted_packet_sequence_id: 3 timestamp: $((500 + i * 100)) sequence_flags: 2 track_event { type: 4 track_uuid: 720 counter_value: $((i * i * 10))
      $([ $i -lt 5 ] || echo "extra_counter_track_uuids: 730 extra_counter_values: $((i * 7))") } }"
    [ $i != 6 ] || echo 'packet { trusted_packet_sequence_id: 3 timestamp: 1130 sequence_flags: 1 trace_packet_defaults { timestamp_clock_id: 3 } }'
  done
} | encode "$TMP/totals"
faults() { "$SONDA" report mem --by faults --csv "${@:2}" "$1" 2>>"$TMP/err" | sed -n 's/^\(p[0-9]*\),\([0-9]*\),\([0-9]*\),.*/\1=\3/p' | tr '\n' ' '; }
for from in 250 450 650; do
  "$SONDA" cut --from ${from}ns -o "$TMP/totals-$from" "$TMP/totals" >"$TMP/out" 2>"$TMP/err"
  whole=$(faults "$TMP/totals" --from ${from}ns) part=$(faults "$TMP/totals-$from")
  echo "the whole: $whole, the part: $part" >>"$TMP/out"
  [ -n "$whole" ] && [ "$whole" = "$part" ]
  verdict "totals grow as much in a part from $from ns on as in this window of the whole: $whole" $?
done
[ "$("$SONDA" sql --csv "$TMP/totals-650" "select group_concat(ts || ' ' || value, ', ') from (select ts, cast(value as int) as value
  from counter c join __intrinsic_track t on t.id = c.track_id join process using (upid) where pid = 30 order by ts)" | tail -n 1 | tr -d '\r"')" = \
  "1650 42, 1700 49, 1800 56, 1900 63" ]
verdict "a part begins with the value that a counter had" $?
for every in 130 250; do
  "$SONDA" split --every ${every}ns -o "$TMP/totals-every$every" "$TMP/totals" >"$TMP/out" 2>"$TMP/err"
  union_is_whole "totals in parts of $every ns" "$TMP/totals" "$TMP/totals-every$every".*
done

# On a busy machine the last data source starts when others have many events.
{
  echo 'packet { trusted_packet_sequence_id: 1 clock_snapshot { primary_trace_clock: 6 clocks { clock_id: 6 timestamp: 900 } } }'
  echo 'packet { trusted_packet_sequence_id: 1 timestamp: 950 service_event { tracing_started: true } }'
  echo 'packet { trusted_packet_sequence_id: 1 timestamp: 1500 service_event { all_data_sources_started: true } }'
  for at in 940 1000 1400 1600; do
    echo "packet { trusted_packet_sequence_id: 4 ftrace_events { cpu: 0 event { timestamp: $at pid: 21 print { ip: 1 buf: \"C|20|level|$at\n\" } } } }"
  done
} | encode "$TMP/late"
"$SONDA" cut --from 300ns --to 500ns -o "$TMP/late-cut" "$TMP/late" >"$TMP/out" 2>"$TMP/err" &&
  [ "$("$SONDA" sql --csv "$TMP/late-cut" "select group_concat(ts) from counter" | tail -n 1 | tr -d '\r')" = 1400 ]
verdict "a trace begins with its first event after tracing has started, not with the last data source" $?
"$SONDA" split --every 200ns -o "$TMP/late-part" "$TMP/late" >"$TMP/out" 2>"$TMP/err"
union_is_whole "and no part lacks what is older" "$TMP/late" "$TMP"/late-part.*

# A bundle whose events are far from each other, and one of them at the end of time: a part is of the time of some packet.
{
  echo "packet { trusted_packet_sequence_id: 4 ftrace_events { cpu: 0 event { timestamp: 1000 pid: 21 print { ip: 1 buf: \"C|20|level|1\n\" } }
    lost_ranges { begin_timestamp: 50000000000 end_timestamp: 60000000000 event_count: 9 }
    event { timestamp: 100000001000 pid: 21 print { ip: 1 buf: \"C|20|level|2\n\" } }
    event { timestamp: 9223372036854775807 pid: 21 print { ip: 1 buf: \"C|20|level|3\n\" } } } }"
} | encode "$TMP/far"
"$SONDA" split --every 1s -o "$TMP/far-part" "$TMP/far" >"$TMP/out" 2>"$TMP/err"
[ "$(ls "$TMP"/far-part.* | sed 's/.*part\.//')" = "000.pftrace
100.pftrace
9223372036.pftrace" ] && (ulimit -n 40 && "$SONDA" split --force --every 1ms -o "$TMP/far-ms" "$TMP/far" >"$TMP/out" 2>"$TMP/err")
verdict "a corrupt time makes one more part and one more descriptor, and there is no part without a packet" $?
union_is_whole "and the parts are the whole" "$TMP/far" "$TMP"/far-part.*
"$SONDA" cut --from 1s -o "$TMP/far-end" "$TMP/far" >"$TMP/out" 2>"$TMP/err" &&
  [ "$("$SONDA" sql --csv "$TMP/far-end" "select max(ts) from ftrace_event" | tail -n 1 | tr -d '\r')" = 9223372036854775807 ]
verdict "a part without an end has an event of the last time that there is" $?
[ "$(for part in "$TMP"/far-part.*; do "$SONDA" info --json "$part" | python3 -c 'import json, sys; print(len(json.load(sys.stdin)["holes"]))'; done | tr '\n' ' ')" = "0 1 0 " ]
verdict "a hole between the parts is in the part after it" $?

# ---- losses ----

holes() { "$SONDA" info --json "$1" | python3 -c 'import json, sys; print(*[(h["cpu"], h.get("events")) for h in json.load(sys.stdin)["holes"]])'; }
places=$(for part in "$TMP"/hand-50.*; do holes "$part"; echo; done | grep -c .)
[ "$(holes "$TMP/hand")" = "(0, 9)" ] && [ "$places" = 1 ]
verdict "a hole is in one part" $?
"$SONDA" info --json "$TRACE" >"$TMP/out"
parts=0
for part in "$TMP"/r.*; do "$SONDA" info --json "$part" | grep -aq '"count":24275' && parts=$((parts + 1)); done
grep -aq '"count":24275' "$TMP/out" && [ $parts = 1 ]
verdict "the kernel's counts are in the part of the recording's end" $?
for i in 000 012; do
  part=$TMP/hand-50.$i.pftrace
  grep -aq 'cut me' "$part" && [ "$("$SONDA" sql --csv "$part" "select release from machine where id = 0" | tail -n 1 | tr -d '\r')" = 6.1.0 ]
  verdict "part $i has the config and the machine" $?
done

# ---- files and mistakes ----

[ "$(stat -c %a "$TMP/cut1")" = 600 ]
verdict "only its owner can read a part" $?
fails "a file that exists is not replaced" 1 'already exists; replace it with --force' cut --to 1 -o "$TMP/cut1" "$TMP/hand"
fails "a part that exists is not replaced" 1 'hand-50.000.pftrace already exists' split --every 50ns -o "$TMP/hand-50" "$TMP/hand"
"$SONDA" cut --force --from 100ns -o "$TMP/cut1" "$TMP/hand" >"$TMP/out" 2>"$TMP/err"
verdict "with --force it is" $?
head -c 3001 "$TRACE" >"$TMP/short"
"$SONDA" cut --to 1 -o - "$TMP/short" 2>"$TMP/err" >"$TMP/out" && grep -q 'is truncated' "$TMP/err"
verdict "a trace that is cut off" $?
"$SONDA" cut --to 1s -o - "$TRACE" 2>"$TMP/err" >/dev/full
[ $? = 1 ] && grep -q 'No space left on device' "$TMP/err"
verdict "a full device is reported" $?
(ulimit -f 4; "$SONDA" cut --to 1s -o "$TMP/full" "$TRACE" >"$TMP/out" 2>"$TMP/err")
[ $? = 1 ] && [ ! -e "$TMP/full" ]
verdict "a part that cannot be written has no name" $?
echo text >"$TMP/text"
fails "not a trace" 1 'not a Perfetto trace' cut --to 1 -o "$TMP/x" "$TMP/text"
fails "a pipe" 1 'not a regular file' cut --to 1 -o "$TMP/x" /dev/null
fails "no such file" 1 'No such file' cut --to 1 -o "$TMP/x" "$TMP/none"
fails "after the end" 1 'after the end of the trace' cut --from 1h -o "$TMP/x" "$TRACE"
for ((i = 0; i < 5000; i++)); do echo "packet { timestamp: $((i * 10)) track_event { type: 3 name: \"a\" } }"; done | encode "$TMP/many"
fails "too many parts" 1 'more than 4096 files' split --every 1ns -o "$TMP/x" "$TMP/many"
for at in 1000 9000; do echo "packet { timestamp: $at track_event { type: 3 name: \"a\" } }"; done | encode "$TMP/gap"
fails "a part without events" 1 'contains no events between --from and --to' cut --from 2us --to 3us -o "$TMP/x" "$TMP/gap"
[ -z "$(find "$TMP" -name 'x*')" ]
verdict "a mistake writes nothing" $?
"$SONDA" cut --to 1h -o "$TMP/hour" "$TRACE" >"$TMP/out" 2>"$TMP/err" &&
  "$SONDA" cut --to 2562047h -o "$TMP/all" "$TRACE" >"$TMP/out" 2>"$TMP/err" && cmp "$TMP/hour" "$TMP/all"
verdict "an end that is later than any clock" $?
fails "no times" 2 'nothing is selected' cut -o "$TMP/x" "$TRACE"
fails "no output" 2 'no output file' cut --to 1 "$TRACE"
fails "an end before the begin" 2 'must be later than --from' cut --from 2 --to 1 -o "$TMP/x" "$TRACE"
fails "no time" 2 'is not a time' cut --from x -o "$TMP/x" "$TRACE"
fails "neither time nor size" 2 'choose either --every' split "$TRACE"
fails "both" 2 'choose either --every' split --every 1 --size 1mb "$TRACE"
fails "no size" 2 'not a size' split --size x "$TRACE"
echo "1..$N"
exit $BAD
