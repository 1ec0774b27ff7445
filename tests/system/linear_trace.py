#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: linear_trace.py FIELDS_H KIND EVENTS OUT

Writes a trace of so many kernel events. KIND: switches (a wakeup and a switch to the thread that it woke, in turn),
calls (begins and ends of system calls), requests (issues and completions of a block device), or markers (lines of trace_marker that begin asynchronous slices, each with a cookie of its own, and do not end them)."""
import re
import sys

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


make = {"switches": switches, "markers": markers, "calls": calls, "requests": requests}[kind]
with open(out, "wb") as f:
    for first in range(0, count, 500):
        bundle = number("FTRACE_EVENT_BUNDLE_CPU", 0)
        bundle += b"".join(make(i) for i in range(first, min(first + 500, count)))
        packet = data("TRACE_PACKET_FTRACE_EVENTS", bundle) + number("TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID", 2)
        f.write(varint(1 << 3 | 2) + varint(len(packet)) + packet)
