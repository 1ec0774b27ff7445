#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: linear_trace.py FIELDS_H KIND EVENTS OUT

Writes a trace of so many kernel events. KIND: switches (a wakeup and a switch to the thread that it woke, in turn),
calls (begins and ends of system calls), requests (issues and completions of a block device), or markers (lines of trace_marker that begin asynchronous slices, each with a cookie of its own, and do not end them).

Or a trace of so many packets: tids (threads with one tid, each of another process); clocks (readings of 32 clocks, compressed);
descriptors (of fields of programs, compressed); way (a chain of so many clocks and 200 events of the last one); stacks (call stacks of
one function more each, and a sample of each)."""
import gzip
import re
import sys
import zlib

fields = dict(re.findall(r"(PB_\w+)\s*=?\s*(\d+)", open(sys.argv[1]).read()))
kind, count, out = sys.argv[2], int(sys.argv[3]), sys.argv[4]


def varint(v):
    v &= (1 << 64) - 1
    b = bytearray()
    while v > 0x7F:
        b.append(v & 0x7F | 0x80)
        v >>= 7
    b.append(v)
    return bytes(b)


def number(field, v):
    return varint(int(fields["PB_" + field]) << 3) + varint(v)


def data(field, v):
    v = v.encode() if isinstance(v, str) else v
    return varint(int(fields["PB_" + field]) << 3 | 2) + varint(len(v)) + v


def event(ts, tid, field, body):
    e = number("FTRACE_EVENT_TIMESTAMP", ts) + number("FTRACE_EVENT_PID", tid) + data("FTRACE_EVENT_" + field, body)
    return data("FTRACE_EVENT_BUNDLE_EVENT", e)


def switches(i):
    now, other = 100 + i // 2 % 20, 100 + (i // 2 + 1) % 20
    ts = 1000000000 + i * 1000 + i * 7919 % 500
    if i % 2 == 0:
        return event(ts, now, "SCHED_WAKING", data("SCHED_WAKING_FTRACE_EVENT_COMM", "t%d" % other) +
                     number("SCHED_WAKING_FTRACE_EVENT_PID", other))
    s = "SCHED_SWITCH_FTRACE_EVENT_"
    return event(ts, now, "SCHED_SWITCH", data(s + "PREV_COMM", "t%d" % now) + number(s + "PREV_PID", now) +
                 number(s + "PREV_STATE", 1) + data(s + "NEXT_COMM", "t%d" % other) + number(s + "NEXT_PID", other) +
                 number(s + "NEXT_PRIO", 120))


def markers(i):
    return event(1000000000 + i * 1000, 100, "PRINT", data("PRINT_FTRACE_EVENT_BUF", "S|100|work|%d\n" % i))


def calls(i):
    ts = 1000000000 + i * 1000
    if i % 2:
        s = "SYS_EXIT_FTRACE_EVENT_"
        return event(ts, 100, "SYS_EXIT", number(s + "ID", 1) + number(s + "RET", i % 4096))
    s = "SYS_ENTER_FTRACE_EVENT_"
    args = (3, 0x7F0000000000 + i * 64, i % 4096, 0, 0x7FFD00000000 + i * 16, 0)
    return event(ts, 100, "SYS_ENTER", number(s + "ID", 1) + b"".join(number(s + "ARGS", v) for v in args))


def requests(i):
    kind = "BLOCK_RQ_COMPLETE" if i % 2 else "BLOCK_RQ_ISSUE"
    s = kind + "_FTRACE_EVENT_"
    return event(1000000000 + i * 1000 + i * 7919 % 500, 100, kind, number(s + "DEV", 8 << 20) + number(s + "SECTOR", i // 2 * 8) +
                 number(s + "NR_SECTOR", 8) + data(s + "RWBS", "W"))


def packet(*parts):
    body = b"".join(parts)
    return varint(1 << 3 | 2) + varint(len(body)) + body


def on_sequence(*parts):
    return packet(number("TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID", 2), *parts)


def compressed(packets):
    return packet(data("TRACE_PACKET_COMPRESSED_PACKETS", zlib.compress(b"".join(packets))))


def snapshot(readings):
    return on_sequence(data("TRACE_PACKET_CLOCK_SNAPSHOT", b"".join(
        data("CLOCK_SNAPSHOT_CLOCKS", number("CLOCK_SNAPSHOT_CLOCK_CLOCK_ID", clock) +
             number("CLOCK_SNAPSHOT_CLOCK_TIMESTAMP", ts)) for clock, ts in readings)))


def instant(ts, clock):
    return on_sequence(number("TRACE_PACKET_TIMESTAMP", ts), number("TRACE_PACKET_TIMESTAMP_CLOCK_ID", clock),
                       number("TRACE_PACKET_SEQUENCE_FLAGS", 1),
                       data("TRACE_PACKET_TRACK_EVENT", number("TRACK_EVENT_TYPE", 3) + data("TRACK_EVENT_NAME", "x")))


def tids(n):
    t = "PROCESS_TREE_THREAD_"
    return [on_sequence(number("TRACE_PACKET_TIMESTAMP", 1000 + i),
                        data("TRACE_PACKET_PROCESS_TREE", data("PROCESS_TREE_THREADS", number(t + "TID", 5) +
                                                               number(t + "TGID", 100 + i)))) for i in range(n)]


def clocks(n):
    return [compressed([snapshot([(6, 1000 + i)] + [(200 + c, i) for c in range(31)]) for i in range(n)])]


def descriptors(n):
    message = b"\x0a\x01M" + b"\x12\x05\x0a\x01n\x18\x07" * 500000
    file = b"\x12\x01p\x22" + varint(len(message)) + message
    zipped = data("EXTENSION_DESCRIPTOR_EXTENSION_SET_GZIP", gzip.compress(b"\x0a" + varint(len(file)) + file))
    return [on_sequence(data("TRACE_PACKET_EXTENSION_DESCRIPTOR", zipped))] * n


def way(n):
    chain = [6] + list(range(200, 200 + n))
    return ([snapshot([(a, 1000), (b, 1000)]) for a, b in zip(chain, chain[1:])] +
            [instant(2000 + i, chain[-1]) for i in range(200)])


def stacks(n):
    ids = [number("CALLSTACK_FRAME_IDS", i + 1) for i in range(n)]
    interned = b"".join(data("INTERNED_DATA_FUNCTION_NAMES", number("INTERNED_STRING_IID", i + 1) +
                             data("INTERNED_STRING_STR", "f%d" % i)) +
                        data("INTERNED_DATA_FRAMES", number("FRAME_IID", i + 1) + number("FRAME_FUNCTION_NAME_ID", i + 1) +
                             number("FRAME_MAPPING_ID", 1) + number("FRAME_REL_PC", i)) +
                        data("INTERNED_DATA_CALLSTACKS", number("CALLSTACK_IID", i + 1) + b"".join(ids[:i + 1]))
                        for i in range(n)) + data("INTERNED_DATA_MAPPINGS", number("MAPPING_IID", 1))
    s = "PERF_SAMPLE_"
    return [on_sequence(number("TRACE_PACKET_SEQUENCE_FLAGS", 1), data("TRACE_PACKET_INTERNED_DATA", interned))] + [
        on_sequence(number("TRACE_PACKET_SEQUENCE_FLAGS", 2), number("TRACE_PACKET_TIMESTAMP", 1000 + i),
                    data("TRACE_PACKET_PERF_SAMPLE", number(s + "CPU", 0) + number(s + "PID", 100) + number(s + "TID", 100) +
                         number(s + "CALLSTACK_IID", i + 1) + number(s + "TIMEBASE_COUNT", 1))) for i in range(n)]


of_packets = {"tids": tids, "clocks": clocks, "descriptors": descriptors, "way": way, "stacks": stacks}
if kind in of_packets:
    with open(out, "wb") as f:
        f.write(b"".join(of_packets[kind](count)))
    sys.exit()
make = {"switches": switches, "markers": markers, "calls": calls, "requests": requests}[kind]
with open(out, "wb") as f:
    for first in range(0, count, 500):
        bundle = number("FTRACE_EVENT_BUNDLE_CPU", 0)
        bundle += b"".join(make(i) for i in range(first, min(first + 500, count)))
        packet = data("TRACE_PACKET_FTRACE_EVENTS", bundle) + number("TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID", 2)
        f.write(varint(1 << 3 | 2) + varint(len(packet)) + packet)
