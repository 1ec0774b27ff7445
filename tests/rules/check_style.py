#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_style.py      prints the C files of src/, include/, tests/ and bench/ that break a rule of style.

The first line names the licence, in a block comment. The #include lines of a block, which an empty line ends, are in the
order of clang-format (SortIncludes): the project's before the system's, each by their bytes.
"""
import glob
import re

LICENCE = "/* SPDX-License-Identifier: "
INCLUDE = re.compile(r'#include (["<])([^">]*)')


def offenders(path):
    with open(path) as f:
        lines = f.read().split("\n")
    if not lines[0].startswith(LICENCE):
        yield f"{path}:1: not {LICENCE}..."
    block = []
    for number, line in enumerate(lines + [""], 1):
        include = INCLUDE.match(line)
        if include:
            block.append(include.groups())
            continue
        if block != sorted(block, key=lambda include: (include[0] == "<", include[1])):
            yield f"{path}:{number - len(block)}: includes are not sorted"
        block = []


files = [f for directory in ("src", "include", "tests", "bench") for f in glob.glob(f"{directory}/**/*.[ch]", recursive=True)]
for path in sorted(files):
    for offender in offenders(path):
        print(offender)
