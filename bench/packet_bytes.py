#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# usage: packet_bytes.py TRACE TYPE
#
# Prints how many bytes the packets of track events of this type (TrackEvent.type) have on average, as their program wrote
# them: without the fields that the service adds, and without the packets in which names stand for the first time.
import sys

TRUSTED = {3, 10, 79, 98}  # TracePacket: uid, sequence, pid, machine
INTERNED, EVENT, TYPE = 12, 11, 9


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """Number, value and size of each field of a message."""
    at = 0
    while at < len(data):
        start = at
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        else:
            size, at = varint(data, at) if tag & 7 == 2 else (8 if tag & 7 == 1 else 4, at)
            value = data[at:at + size]
            at += size
        yield tag >> 3, value, at - start


def main():
    n = total = 0
    with open(sys.argv[1], 'rb') as trace:
        packets = [value for _, value, _ in fields(trace.read())]
    for packet in packets:
        found = {number: value for number, value, _ in fields(packet)}
        if EVENT not in found or INTERNED in found:
            continue
        if any(f == TYPE and v == int(sys.argv[2]) for f, v, _ in fields(found[EVENT])):
            n += 1
            total += sum(size for number, _, size in fields(packet) if number not in TRUSTED)
    print(f'{total / max(n, 1):.1f}')


main()
