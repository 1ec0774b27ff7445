#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: keep_parents.py SONDA TRACE      gives each process of a trace the parent that sonda sql shows.

trace_processor 55 makes a second process of one whose parent ended: the process trees of the trace name another parent
then, or one whose number stands for another process. 58 and sonda keep the first parent. So the rows of 55 are only
comparable if the trees have one parent. What they say of a process whose parent ended in the trace, and of its threads, is
left out.
"""
import csv
import io
import subprocess
import sys
import zlib

PACKET, COMPRESSED, PROCESS_TREE, MACHINE_ID, PROCESSES, PID, PPID, THREADS, TGID = 1, 50, 2, 98, 1, 1, 2, 2, 3


def varint(n):
    out = b""
    while n >= 128:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def fields(data):
    """Yields the number, the wire type and the value of each field; the value is a number or bytes."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
            if byte < 128:
                return value

    while at < len(data):
        key = number()
        if key & 7 == 0:
            yield key >> 3, 0, number()
            continue
        size = number() if key & 7 == 2 else 8 if key & 7 == 1 else 4
        yield key >> 3, key & 7, data[at:at + size]
        at += size


def message(parts):
    out = []
    for field, wire_type, value in parts:
        out.append(varint(field << 3 | wire_type))
        if wire_type == 2:
            out.append(varint(len(value)))
        out.append(varint(value) if wire_type == 0 else value)
    return b"".join(out)


def changed(parts, field, change):
    return message([(n, w, change(v) if n == field else v) for n, w, v in parts])


def tree_with_parents(tree, parents, machine):
    out = []
    for n, w, value in fields(tree):
        if n in (PROCESSES, THREADS):
            parts = list(fields(value))
            pid = dict((n, v) for n, w, v in parts if w == 0).get(PID if n == PROCESSES else TGID, 0)
            known = parents.get((machine, pid), set())
            if any(ended for _, ended in known):
                continue
            if n == PROCESSES and len(known) == 1:
                value = message([p for p in parts if p[0] != PPID] + [(PPID, 0, next(iter(known))[0])])
        out.append((n, w, value))
    return message(out)


def packet(data, parents):
    parts = list(fields(data))
    machine = dict((n, v) for n, w, v in parts if w == 0).get(MACHINE_ID, 0)
    for field, _, value in parts:
        if field == COMPRESSED:
            whole = trace(zlib.decompress(value), parents)
            return changed(parts, COMPRESSED, lambda _: zlib.compress(whole))
    return changed(parts, PROCESS_TREE, lambda tree: tree_with_parents(tree, parents, machine))


def trace(data, parents):
    return message([(n, w, packet(v, parents) if n == PACKET else v) for n, w, v in fields(data)])


def main(sonda, path):
    rows = subprocess.run([sonda, "sql", "--csv", path, """select m.raw_id, p.pid, q.pid,
        exists (select 1 from thread t where t.upid = q.upid and t.end_ts is not null) from process p
        join process q on q.upid = p.parent_upid join machine m on m.id = p.machine_id"""],
                          check=True, capture_output=True, text=True).stdout
    parents = {}
    for machine, pid, parent, ended in list(csv.reader(io.StringIO(rows)))[1:]:
        parents.setdefault((int(machine), int(pid)), set()).add((int(parent), int(ended)))
    with open(path, "rb") as f:
        data = f.read()
    with open(path, "wb") as f:
        f.write(trace(data, parents))


main(*sys.argv[1:])
