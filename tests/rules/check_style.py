#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_style.py      prints the C files of src/, include/, tests/ and bench/ that break a rule of style.

The first line names the licence, in a block comment. The #include lines of a block, which an empty line ends, are in the
order of clang-format (SortIncludes): the project's before the system's, each by their bytes. In a comment of several lines the
text begins behind the opening mark and ends before the closing one, unless it has paragraphs or tables, or stands alone before
an empty line: then both marks have lines of their own.
"""
import glob
import re

LICENCE = "/* SPDX-License-Identifier: "
COMMENT = re.compile(r"[ \t]*/\*(.*)")
INCLUDE = re.compile(r'#include (["<])([^">]*)')


def wrong_comments(lines):
    """Yields the numbers of the first lines of comments whose marks are not where they belong."""
    begin = None
    for number, line in enumerate(lines, 1):
        if begin is None:
            if COMMENT.fullmatch(line) and "*/" not in line:
                begin = number
            continue
        if "*/" not in line:
            continue
        texts = [line.strip() for line in lines[begin - 1:number]]
        middle = texts[1:-1] if texts[0] == "/*" else texts[1:]
        stands_alone = not "".join(lines[number:number + 1]).strip()
        has_parts = any(text == "*" or text.startswith("*\t") for text in middle)
        is_long = texts[0] == "/*" and texts[-1] == "*/"
        is_short = texts[0] != "/*" and texts[-1] != "*/"
        if not (is_long if has_parts or stands_alone else is_short) and begin != 2:
            yield begin
        begin = None


def offenders(path):
    with open(path) as f:
        lines = f.read().split("\n")
    if not lines[0].startswith(LICENCE):
        yield f"{path}:1: not {LICENCE}..."
    yield from (f"{path}:{number}: this comment has its marks in the wrong lines" for number in wrong_comments(lines))
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
