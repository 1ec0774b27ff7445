#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# usage: stdlib_files.py trace_processor.wasm DIR
#
# Writes the modules of SQL that are in trace_processor into a directory, and prints their names.
import os
import re
import struct
import sys

program, directory = sys.argv[1:]
with open(program, "rb") as f:
    data = f.read()
for found in re.finditer(rb"([a-z0-9_/]+)\.sql\0", data):
    # A name and a text, each with its length before it.
    start, end = found.start(), found.end()
    if struct.unpack("<I", data[start - 4 : start])[0] != end - start - 1:
        continue
    size = struct.unpack("<I", data[end : end + 4])[0]
    name = found.group(1).decode()
    path = os.path.join(directory, name + ".sql")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data[end + 4 : end + 4 + size])
    print(name.replace("/", "."))
