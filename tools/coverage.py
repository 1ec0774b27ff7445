#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sums what gcov counted in a build with --coverage.

usage: tools/coverage.py BUILD [DIR]

Prints a line for each directory of src: lines and branches that have been executed, and how many there are. With DIR
(src/wire, ...) a line for each of its files. A unit test that includes a source file counts for this file, too."""
import collections
import json
import os
import pathlib
import subprocess
import sys


def read_counts(build):
    """Returns the executions of each line, and of each branch of a line, by source file."""
    lines, branches = collections.defaultdict(collections.Counter), collections.defaultdict(collections.Counter)
    data = [str(path.resolve()) for path in pathlib.Path(build).rglob("*.gcda")]
    # What no test links has no counts, only notes.
    data += [str(path.resolve()) for path in pathlib.Path(build, "obj").rglob("*.gcno") if not path.with_suffix(".gcda").exists()]
    for i in range(0, len(data), 50):
        out = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", *data[i : i + 50]],
                             check=True, capture_output=True, text=True).stdout
        for document in filter(None, out.splitlines()):
            for file in json.loads(document)["files"]:
                name = os.path.relpath(file["file"])
                if not name.startswith("src/"):
                    continue
                for line in file["lines"]:
                    lines[name][line["line_number"]] += line["count"]
                    for number, branch in enumerate(line["branches"]):
                        if not branch["throw"]:
                            branches[name][line["line_number"], number] += branch["count"]
    return lines, branches


def share(counters):
    total = sum(len(c) for c in counters)
    executed = sum(1 for c in counters for count in c.values() if count)
    return f"{100 * executed / max(total, 1):6.1f} % of {total:6}"


def main():
    build, directory = sys.argv[1], sys.argv[2].rstrip("/") if len(sys.argv) > 2 else None
    lines, branches = read_counts(build)
    if not lines:
        sys.exit(f"coverage: {build} has no counts; make coverage builds and runs what writes them")
    groups = collections.defaultdict(list)
    for name in lines:
        if directory is None or name.startswith(directory + "/"):
            groups[name if directory else "/".join(name.split("/")[:2])].append(name)
    if directory is None:
        groups["src"] = list(lines)
    for group in sorted(groups):
        files = groups[group]
        print(f"{group:40} lines {share([lines[f] for f in files])}   branches {share([branches[f] for f in files])}")


main()
