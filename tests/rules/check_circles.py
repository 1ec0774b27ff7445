#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds units of src/ that include each other in a circle. A unit is X.c with X.h.

Prints one line for each circle that tests/rules/circles_exceptions does not list, and one line for each entry of that
list that is not a circle any more."""
import collections
import glob
import re


def read_includes():
    files = glob.glob("src/**/*.[ch]", recursive=True)
    units = {f[4:-2] for f in files}
    includes = collections.defaultdict(set)
    for f in files:
        with open(f, encoding="utf-8") as source:
            for header in re.findall(r'^#include "(.+)\.h"', source.read(), re.M):
                if header in units and header != f[4:-2]:
                    includes[f[4:-2]].add(header)
    return units, includes


def reachable(unit, includes):
    seen, todo = set(), [unit]
    while todo:
        for header in includes[todo.pop()] - seen:
            seen.add(header)
            todo.append(header)
    return seen


def find_circles():
    units, includes = read_includes()
    reach = {u: reachable(u, includes) for u in units}
    return {frozenset(v for v in reach[u] if u in reach[v]) for u in units if u in reach[u]}


def main():
    with open("tests/rules/circles_exceptions", encoding="utf-8") as listed:
        known = {frozenset(line.split()) for line in listed if line.strip() and not line.startswith("#")}
    circles = find_circles()
    for circle in sorted(map(sorted, circles - known)):
        print("circle:", " ".join(circle))
    for circle in sorted(map(sorted, known - circles)):
        print("no circle any more; take it off tests/rules/circles_exceptions:", " ".join(circle))


main()
