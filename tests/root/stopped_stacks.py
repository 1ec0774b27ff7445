#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""
usage: stopped_stacks.py take PID N FILE      stops the process N times, and writes its stacks by eu-stack
       stopped_stacks.py perf FILE            writes those of perf script on stdin: -F tid,time,ip,dso --ns
       stopped_stacks.py compare FILE         with stacks of samples on stdin; prints EQUAL OF
       stopped_stacks.py compare-perf FILE    the same for stacks of perf
       stopped_stacks.py compare-begins FILE  the same as far as the stacks of perf reach

A sample at the switch (SW_CONTEXT_SWITCHES) that stops a thread has the stack that eu-stack sees then.
The lines of stdin are "TIME TID FRAME;FRAME...", the innermost frame last, each "MAPPED-FILE+ADDRESS", of the program only.
"""
import collections
import json
import os
import random
import re
import signal
import subprocess
import sys
import time


def segments(path, known={}):
    if path not in known:
        text = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True).stdout
        known[path] = [[int(x, 16) for x in m.groups()] for m in
                       re.finditer(r"^ +LOAD +0x(\w+) 0x(\w+) 0x\w+ 0x(\w+)", text, re.M)]
    return known[path]


def in_file(pid, address):
    for line in open(f"/proc/{pid}/maps"):
        f = line.split()
        start, end = (int(x, 16) for x in f[0].split("-"))
        if not start <= address < end or len(f) < 6:
            continue
        offset = address - start + int(f[2], 16)
        for at, virtual, size in segments(f[5]):
            if at <= offset < at + size:
                return f"{os.path.basename(f[5])}+{offset - at + virtual:x}"
        return os.path.basename(f[5])  # the vDSO
    return "?"


def take(pid, n, out):
    stacks = []
    for _ in range(n):
        os.kill(pid, signal.SIGSTOP)
        while open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] != "T":
            time.sleep(0.001)
        now = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        text = subprocess.run(["eu-stack", "-1", "-n", "500", "-p", str(pid)], capture_output=True, text=True).stdout
        frames = []
        for m in re.finditer(r"^#\d+ +0x(\w+)", text, re.M):
            frames.append(in_file(pid, int(m[1], 16)))
        stacks.append((now, pid, frames))
        os.kill(pid, signal.SIGCONT)
        time.sleep(random.uniform(0.005, 0.03))
    json.dump(stacks, open(out, "w"))


def read_perf(out):
    """perf has the offset in the file of each address; callers in their call."""
    stacks, frames = [], []
    for line in sys.stdin:
        head = re.match(r"^ *(\d+) +(\d+)\.(\d{9}):", line)
        frame = re.match(r"^\s+([0-9a-f]+) \((.*)\)$", line)
        if head:
            frames = []
            stacks.append((int(head[2]) * 10**9 + int(head[3]), int(head[1]), frames))
        elif frame and int(frame[1], 16) < 1 << 63:
            offset, name = int(frame[1], 16), os.path.basename(frame[2])
            found = [offset - at + virtual for at, virtual, size in segments(frame[2]) if at <= offset < at + size]
            # Compiled code is of no file: perf names the map that may have its names.
            name = "anon" if re.match(r"perf-\d+\.map$", name) else name
            frames.append(f"{name}+{found[0]:x}" if found else name)
    json.dump([s for s in stacks if s[2]], open(out, "w"))


def is_same(ours, theirs):
    # eu-stack has return addresses, a sample the address before, which is in the call.
    name, address = ours.rsplit("+", 1) if "+" in ours else (ours, "0")
    return theirs == name or theirs in (ours, f"{name}+{int(address, 16) + 1:x}")


def sample_at(samples, now):
    """The last one before: the switch that stopped the thread."""
    return max((s for s in samples if s[0] <= now), default=None)


def sample_near(samples, now):
    """Both sample the same switch, one after the other."""
    nearest = min(samples, key=lambda s: abs(s[0] - now), default=None)
    return nearest if nearest and abs(nearest[0] - now) < 30000 else None


def compare(path, find, only_begins):
    samples = collections.defaultdict(list)
    for line in sys.stdin:
        at, tid, frames = line.rstrip("\n").split(" ", 2)
        samples[int(tid)].append((int(at), frames.rstrip(";").split(";")[::-1]))
    equal = of = 0
    for now, tid, frames in json.load(open(path)):
        sample = find(samples[tid], now)
        if not sample:
            continue
        ours = sample[1]
        if only_begins:
            ours = ours[: len(frames)]
        of += max(len(frames), len(ours))
        equal += sum(map(is_same, ours, frames))
        if len(ours) != len(frames) or not all(map(is_same, ours, frames)):
            print("ours  ", ours, "\ntheirs", frames, file=sys.stderr)
    print(equal, of)


if sys.argv[1] == "take":
    take(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
elif sys.argv[1] == "perf":
    read_perf(sys.argv[2])
else:
    compare(sys.argv[2], sample_at if sys.argv[1] == "compare" else sample_near, sys.argv[1] == "compare-begins")
