#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts static functions whose name is also that of static functions of two or more other files.

usage: check_static_names.py LIMIT     the share of such functions in all static functions of src, in %

A debugger, a profile and a flame graph show the bare name. Prints the names that most files share if they are more
than the limit."""
import collections
import glob
import re
import sys

DEFINITION = re.compile(r"^static\b[^;={}]*?\b([a-z_]\w*)\([^;{}]*\)\s*\{", re.M)


def main():
    users, functions = collections.defaultdict(set), 0
    for file in glob.glob("src/**/*.c", recursive=True):
        with open(file, encoding="utf-8") as source:
            for name in filter(lambda name: name != "__attribute__", DEFINITION.findall(source.read())):
                users[name].add(file)
                functions += 1
    shared = {name: files for name, files in users.items() if len(files) > 2}
    share = 100 * sum(map(len, shared.values())) / functions
    if share <= float(sys.argv[1]):
        return
    print(f"{share:.1f} % of {functions} static functions have a name that three or more files use")
    for name, files in sorted(shared.items(), key=lambda item: -len(item[1]))[:20]:
        print(f"{name}: {len(files)} files, {' '.join(sorted(files)[:3])} ...")


main()
