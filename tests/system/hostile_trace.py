#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: hostile_trace.py FILE: writes a trace of two machines in which each name is an attack on a terminal."""
import sys

NAME = (b"\x1b]0;attack\x07\x1b[31m\xc2\x9b31m\xe2\x80\xae</script><img src=x onerror=alert(1)>\r\n'\"`$(id)\x1b[8m")


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def packet(*fields):
    return field(1, b"".join(fields))


def switch(ts, prev, following):
    return field(2, field(1, ts) + field(2, prev) + field(4, field(1, NAME) + field(2, prev) + field(3, 120) + field(4, 1) +
                                                          field(5, NAME) + field(6, following) + field(7, 120)))


def machine(number):
    own = field(10, number + 1) + (field(98, number) if number else b"")
    tree = field(1, field(1, 100) + field(2, 1) + field(3, NAME) + field(3, NAME))
    tree += field(2, field(5, 100) + field(2, NAME) + field(3, 100)) + field(2, field(5, 101) + field(2, NAME) + field(3, 100))
    system = field(1, field(1, NAME) + field(2, NAME) + field(3, NAME) + field(4, NAME)) + field(4, NAME)
    switches = b"".join(switch(2000 + i * 1000, 100 + i % 2, 101 - i % 2) for i in range(20))
    event = field(9, 1) + field(11, 77) + field(23, NAME) + field(22, NAME) + field(4, field(10, NAME) + field(6, NAME))
    return (packet(own, field(8, 1000), field(45, system)) + packet(own, field(8, 1000), field(2, tree)) +
            packet(own, field(8, 2000), field(1, field(1, 0) + switches)) +
            packet(own, field(8, 3000), field(13, 3), field(60, field(1, 77) + field(2, NAME))) +
            packet(own, field(8, 3000), field(11, event)) + packet(own, field(8, 9000), field(11, field(9, 2) + field(11, 77))))


config = field(1, field(1, 64)) + field(2, field(1, field(1, NAME))) + field(22, NAME)
with open(sys.argv[1], "wb") as f:
    f.write(packet(field(33, config)) + machine(0) + machine(7))
