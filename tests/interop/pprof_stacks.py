#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what each profile of pprof says: reads rows of JSON with hexadecimal bytes, prints the types, then each stack with its values."""
import json
import sys


def fields(data):
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = varint()
        value = varint()
        if tag & 7 == 2:
            value, at = data[at : at + value], at + value
        yield tag >> 3, value


def unpack(value):
    if isinstance(value, int):
        return [value]
    out, number, shift = [], 0, 0
    for byte in value:
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            out.append(number)
            number = shift = 0
    return out


def numbers(message, field):
    return [n for f, value in fields(message) if f == field for n in unpack(value)]


for line in sys.stdin:
    for row in json.loads(line):
        for cell in row.values():
            profile = list(fields(bytes.fromhex(cell)))
            texts = [v.decode() for f, v in profile if f == 6]
            functions = {dict(fields(v))[1]: texts[dict(fields(v))[2]] for f, v in profile if f == 5}
            lines = {dict(fields(v))[1]: [functions[dict(fields(x))[1]] for g, x in fields(v) if g == 4] for f, v in profile if f == 4}
            print([tuple(texts[x] for _, x in fields(v)) for f, v in profile if f == 1])
            for stack in sorted(
                (";".join(n for location in numbers(v, 1) for n in lines[location]), list(numbers(v, 2))) for f, v in profile if f == 2
            ):
                print(*stack)
