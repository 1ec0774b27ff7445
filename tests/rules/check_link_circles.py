#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds files of src/ that use each other's functions or variables in a circle, as the linker sees them.

usage: check_link_circles.py BUILD     reads the objects below BUILD/obj, of the libraries those below BUILD/pic

Prints a line for each circle that is not within one of tests/rules/link_circles_exceptions, and for each of these
exceptions that is larger than needed. Prints nothing if src/ was not built completely (a build without libbpf)."""
import collections
import glob
import os
import subprocess
import sys


def object_of(build, file):
    return f"{build}/{'pic' if file.startswith(('lib/', 'embed/')) else 'obj'}/{file}.o"


def read_uses(build, files):
    """Returns for each file the files that define what it uses."""
    objects = {object_of(build, file): file for file in files}
    definer, used = {}, collections.defaultdict(set)
    for line in subprocess.run(["nm", "-AP", *objects], check=True, capture_output=True, text=True).stdout.splitlines():
        place, _, rest = line.partition(": ")
        symbol, kind = rest.split()[:2]
        if kind == "U":
            used[objects[place]].add(symbol)
        elif kind in "TDRBCV":
            definer[symbol] = objects[place]
    return {f: {definer[s] for s in used[f] if s in definer and definer[s] != f} for f in files}


def reachable(start, uses):
    seen, todo = set(), [start]
    while todo:
        for f in uses[todo.pop()] - seen:
            seen.add(f)
            todo.append(f)
    return seen


def main():
    build = sys.argv[1]
    # Those with _none stand for others in a build without eBPF.
    sources = {s for s in glob.glob("src/**/*.c", recursive=True) if not s.endswith("_none.c")}
    files = [source[4:-2] for source in sources if not source.endswith("/main.c")]
    if not all(os.path.exists(object_of(build, f)) for f in files):
        return
    uses = read_uses(build, files)
    reach = {f: reachable(f, uses) for f in files}
    circles = {frozenset(g for g in reach[f] if f in reach[g]) for f in files if f in reach[f]}
    with open("tests/rules/link_circles_exceptions", encoding="utf-8") as listed:
        known = [frozenset(line.split()) for line in listed if line.strip() and not line.startswith("#")]
    for circle in sorted(map(sorted, circles)):
        if not any(set(circle) <= k for k in known):
            print("circle:", " ".join(circle))
    for k in known:
        needed = frozenset().union(*(c for c in circles if c <= k))
        if needed != k:
            print("take off tests/rules/link_circles_exceptions:", " ".join(sorted(k - needed)))


main()
