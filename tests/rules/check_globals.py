#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds functions and variables of src/ that have external linkage, but no user in another object of src/.

Usage: check_globals.py BUILD. Reads the objects below BUILD/obj, of the libraries those below
BUILD/pic, whose public functions (sonda_*) have their users in programs. Prints one line for each symbol that
tests/rules/globals_exceptions does not list, and one for each entry of that list that is not needed. Prints nothing if
src/ was not built completely (a build without libbpf)."""
import collections
import glob
import os
import subprocess
import sys


def read_symbols(objects):
    defined, users = {}, collections.Counter()
    name = ""
    for line in subprocess.run(["nm", "-gA", *objects], check=True, capture_output=True, text=True).stdout.splitlines():
        name, symbol = line.split(":", 1)
        fields = symbol.split()
        if fields[-2] == "U":
            users[fields[-1]] += 1
        elif fields[-2] in "TDRBC":
            defined[fields[-1]] = name
    return defined, users


def main():
    build = sys.argv[1]
    sources = set(glob.glob("src/**/*.c", recursive=True)) - {"src/ebpf/ebpf_none.c"}
    objects = [f"{build}/{'pic' if source.startswith(('src/lib/', 'src/embed/')) else 'obj'}/{source[4:-2]}.o" for source in sources]
    if not all(map(os.path.exists, objects)):
        return
    defined, users = read_symbols(objects)
    unused = {symbol for symbol in defined if not users[symbol] and symbol != "main" and not symbol.startswith("sonda_")}
    with open("tests/rules/globals_exceptions", encoding="utf-8") as listed:
        known = {line.split()[0] for line in listed if line.strip() and not line.startswith("#")}
    for symbol in sorted(unused - known):
        print(f"{defined[symbol][len(build) + 5:-2]}: no other file of src/ uses {symbol}: make it static, or delete it")
    for symbol in sorted(known - unused):
        print(f"tests/rules/globals_exceptions: {symbol} is not needed any more")


main()
