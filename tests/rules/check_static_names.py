#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts static functions whose bare name does not identify them: a debugger, a profile and a flame graph show no other.

usage: check_static_names.py shared LIMIT       functions whose name three or more files have
       check_static_names.py one-word LIMIT     functions whose name is one word, without an object

LIMIT is their share in all static functions of src, in %. Prints the names if they are more."""
import collections
import glob
import re
import sys

DEFINITION = re.compile(r"^static\b[^;={}]*?\b([a-z_]\w*)\([^;{}]*\)\s*\{", re.M)


def main():
    kind, limit = sys.argv[1], float(sys.argv[2])
    users, functions = collections.defaultdict(set), 0
    for file in glob.glob("src/**/*.c", recursive=True):
        with open(file, encoding="utf-8") as source:
            for name in filter(lambda name: name != "__attribute__", DEFINITION.findall(source.read())):
                users[name].add(file)
                functions += 1
    bad = {name: files for name, files in users.items() if (len(files) > 2 if kind == "shared" else "_" not in name)}
    share = 100 * sum(map(len, bad.values())) / functions
    if share <= limit:
        return
    print(f"{share:.1f} % of {functions} static functions have a bad name ({kind})")
    for name, files in sorted(bad.items(), key=lambda item: -len(item[1]))[:20]:
        print(f"{name}: {len(files)} files, {' '.join(sorted(files)[:3])} ...")


main()
