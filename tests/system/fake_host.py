#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# usage: fake_host.py MACHINE sh       in place of ssh (SONDA_SSH)
#
# A machine that answers sonda record --host by its name: it has sonda, but no agent of sonda. "MODE" or "MODE-ANYTHING":
#
#   good      sends a trace and the exit code 0
#   late      the same, with a clock that is three seconds ahead
#   cut       closes the connection inside the second packet
#   garbage   sends a trace that is none
#   frames    sends a frame that does not fit
#   long      sends a frame whose length is above the limit
#   noise     prints lines without an end in sight, and no answer
#   escapes   has control characters in its name for its machine and in its version
#   banner    is an account that refuses the login with a line
import os, struct, sys, time

mode = sys.argv[1].split('-')[0]
stdin, stdout = sys.stdin.buffer, sys.stdout.buffer


def say(data):
    stdout.write(data)
    stdout.flush()


def frame(kind, data):
    return kind.encode() + struct.pack('<I', len(data)) + data


def read_frame():
    head = stdin.read(5)
    return (head[:1].decode(), stdin.read(struct.unpack('<I', head[1:])[0])) if len(head) == 5 else ('', b'')


def varint(n):
    out = b''
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, data):
    if isinstance(data, int):
        return varint(number << 3) + varint(data)
    return varint(number << 3 | 2) + varint(len(data)) + data


def clocks(boot, real):
    return field(1, field(1, 6) + field(2, boot)) + field(1, field(1, 1) + field(2, real)) + field(2, 6)


def trace():
    boot, real = time.clock_gettime_ns(time.CLOCK_BOOTTIME), time.time_ns() + shift
    snapshot = field(8, boot) + field(10, 1) + field(6, clocks(boot, real))
    event = field(8, boot + 1) + field(10, 1) + field(900, mode.encode())
    return field(1, snapshot) + field(1, event)


shift = 3000000000 if mode == 'late' else 0
while stdin.readline() != b'}\n':
    pass
if mode == 'noise':
    while True:
        say(b'Welcome\n' * 1000)
if mode == 'banner':
    say(b'This account is not \x1b[31mavailable.\n')
    sys.exit(1)
if mode == 'escapes':
    say(b'@sonda-host Linux x86\x1b[2J 1 9.9\x1b]0;\x07\n')
    sys.exit(stdin.readline() and 0)
say(b'Welcome\n\n@sonda-host Linux %s 1 %s\n' % (os.uname().machine.encode(), os.environ['VERSION'].encode()))
assert stdin.readline().split()[0] == b'run'
say(b'\n@sonda-agent\n' + frame('H', struct.pack('<I', 0)))
while True:
    kind, data = read_frame()
    if kind == 'p':
        boot, real = time.clock_gettime_ns(time.CLOCK_BOOTTIME), time.time_ns() + shift
        say(frame('P', data + struct.pack('<QQ', boot, real)))
    else:
        break
assert kind == 'R', kind
data = trace()
if mode == 'cut':
    say(frame('E', b'begins\n') + frame('T', data[:-3]))
elif mode == 'garbage':
    say(frame('T', b'no trace'))
    stdin.read()
elif mode == 'frames':
    say(frame('?', b'x'))
    stdin.read()
elif mode == 'long':
    say(b'T\xff\xff\xff\xff')
    stdin.read()
else:
    say(frame('O', b'half a li') + frame('T', data[:5]) + frame('O', b'ne\nand more') + frame('T', data[5:]))
    say(frame('E', b'a summary\n') + frame('X', struct.pack('<II', 0, 0)))
    stdin.read()
