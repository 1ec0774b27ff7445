#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# usage: perf_data.py OUT [OPTION]...    writes a perf.data: two processes with samples, and the scheduler's tracepoint
#
#     --stream      as perf record -o - writes it      --compressed   the records are compressed (zstd)
#     --id          several events, found by their ids      --lost N   lost records on CPU 1
#     --cut BYTES   leaves out the end      --clock ID   of the times      --clock-data   CLOCK_REALTIME is known
#     --unsorted    the rings of two CPUs follow each other, in one round
#     --switches    context switches of CPU 0, without the tracepoint      --no-release  --big-endian
#
# Format: perf_event_open(2), tools/perf/Documentation/perf.data-file-format.txt of the kernel's sources.
import argparse
import struct

parser = argparse.ArgumentParser()
parser.add_argument('out')
for name in ('stream', 'compressed', 'id', 'clock-data', 'unsorted', 'switches', 'no-release', 'big-endian'):
    parser.add_argument('--' + name, action='store_true')
parser.add_argument('--lost', type=int, default=0)
parser.add_argument('--cut', type=int, default=0)
parser.add_argument('--clock', type=int, default=-1)
args = parser.parse_args()

IP, TID, TIME, CALLCHAIN, ID, CPU, PERIOD, RAW, IDENTIFIER = (1 << n for n in (0, 1, 2, 5, 6, 7, 8, 10, 16))
KERNEL, USER = 1, 2
CONTEXT_KERNEL, CONTEXT_USER = -128 & (1 << 64) - 1, -512 & (1 << 64) - 1
SAMPLES = IP | TID | TIME | CPU | PERIOD | CALLCHAIN | (IDENTIFIER if args.id else 0)
EVENTS = TID | TIME | CPU | RAW | (IDENTIFIER if args.id else 0)
SAMPLE_ID, EVENT_ID = 71, 72
T = 5_000_000_000  # the first time
BUILD_ID = bytes(range(1, 21))


def record(kind, body, misc=0):
    body += bytes(-len(body) % 8)
    return struct.pack('<IHH', kind, misc, 8 + len(body)) + body


def end(time, cpu=0, pid=0, tid=0):  # sample_id_all
    return struct.pack('<IIQII', pid, tid, time, cpu, 0) + (struct.pack('<Q', SAMPLE_ID) if args.id else b'')


def text(s, multiple=8):
    s = s.encode() + b'\0'
    return s + bytes(-len(s) % multiple)


def mmap2(pid, start, length, offset, path, time, misc=USER):
    return record(10, struct.pack('<IIQQQIIQQII', pid, pid, start, length, offset, 8, 1, 99, 1, 5, 2) + text(path) + end(time), misc)


def mmap_kernel(address):
    return record(1, struct.pack('<IIQQQ', 0xffffffff, 0, address, 1 << 24, address) + text('[kernel.kallsyms]_text') + end(0), KERNEL)


def comm(pid, tid, name, time, misc=0):
    return record(3, struct.pack('<II', pid, tid) + text(name) + end(time), misc)


def fork(pid, parent, time):
    return record(7, struct.pack('<IIIIQ', pid, parent, pid, parent, time) + end(time))


def sample(pid, tid, time, cpu, chain, mode=USER, period=10):
    body = struct.pack('<Q', SAMPLE_ID) if args.id else b''
    body += struct.pack('<QIIQIIQ', chain[1] if len(chain) > 1 else 0, pid, tid, time, cpu, 0, period)
    return record(9, body + struct.pack(f'<Q{len(chain)}Q', len(chain), *chain), mode)


def switch(time, cpu, prev, prev_comm, following, next_comm):
    raw = struct.pack('<HBBi16siiq16sii', 300, 0, 0, prev, prev_comm.encode(), prev, 120, 1, next_comm.encode(), following, 120)
    raw += bytes(-(len(raw) + 4) % 8)
    body = struct.pack('<Q', EVENT_ID) if args.id else b''
    return record(9, body + struct.pack('<IIQII', prev, prev, time, cpu, 0) + struct.pack('<I', len(raw)) + raw, KERNEL)


# Task `tid` stops for `following`, or begins after it. A task that has ended has no number.
def switch_record(time, tid, other, is_out, preempted=False):
    misc = (1 << 13 if is_out else 0) | (1 << 14 if preempted else 0)
    return record(15, struct.pack('<II', other, other) + end(time, 0, tid, tid), misc)


def switches():
    gone = 0xffffffff
    steps = [(0, 100, False), (100, 200, True), (200, 100, False), (100, 0, False), (0, 201, False), (201, 0, False)]
    out = []
    for i, (prev, following, preempted) in enumerate(steps):
        out.append(switch_record(T + 100 * (i + 1), gone if prev == 201 else prev, following, True, preempted))
        out.append(switch_record(T + 100 * (i + 1) + 1, following, gone if prev == 201 else prev, False))
    return out


FORMAT = '''name: sched_switch
ID: 300
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:char prev_comm[16];	offset:8;	size:16;	signed:0;
	field:pid_t prev_pid;	offset:24;	size:4;	signed:1;
	field:int prev_prio;	offset:28;	size:4;	signed:1;
	field:long prev_state;	offset:32;	size:8;	signed:1;
	field:char next_comm[16];	offset:40;	size:16;	signed:0;
	field:pid_t next_pid;	offset:56;	size:4;	signed:1;
	field:int next_prio;	offset:60;	size:4;	signed:1;

print fmt: "prev_comm=%s", REC->prev_comm
'''
HEADER_PAGE = '\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n' \
    '\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n'


def tracing_data():
    out = b'\x17\x08\x44tracing0.6\0\0\x08' + struct.pack('<I', 4096)
    out += b'header_page\0' + struct.pack('<Q', len(HEADER_PAGE)) + HEADER_PAGE.encode() + b'header_event\0' + struct.pack('<Q', 0)
    out += struct.pack('<I', 0) + struct.pack('<I', 1) + b'sched\0' + struct.pack('<I', 1)
    return out + struct.pack('<Q', len(FORMAT)) + FORMAT.encode() + struct.pack('<IIQ', 0, 0, 0)


def attr(kind, config, sample_type, period):
    flags = 1 << 18 | 1 << 8 | 1 << 9 | 1 << 13 | 1 << 23 | (1 << 10 if kind == 1 else 0) | (1 << 25 if args.clock >= 0 else 0)
    return struct.pack('<IIQQQQQIIQQQQIi', kind, 96, config, period, sample_type, 0, flags, 0, 0, 0, 0, 0, 0, 0, max(args.clock, 0))


def string(s):
    s = s.encode() + b'\0'
    s += bytes(-len(s) % 64)
    return struct.pack('<I', len(s)) + s


attrs = [(attr(1, 0, SAMPLES, 99), [SAMPLE_ID], 'cpu-clock')]
if args.id:
    attrs.append((attr(2, 300, EVENTS, 1), [EVENT_ID], 'sched:sched_switch'))

CPU0 = [
    mmap_kernel(0xffffffff81000000), comm(100, 100, 'first', 0), mmap2(100, 0x555500000000, 0x4000, 0x1000, '/usr/bin/first', 0),
    mmap2(100, 0x400000, 0x4000, 0, '/usr/bin/fixed', 0),
    sample(100, 100, T, 0, [CONTEXT_USER, 0x555500000010, 0x555500000101]),
    sample(100, 100, T + 1000, 0, [CONTEXT_KERNEL, 0xffffffff81000105, CONTEXT_USER, 0x400123], mode=KERNEL),
]
CPU1 = [
    fork(200, 100, T + 500),
    sample(200, 200, T + 600, 1, [CONTEXT_USER, 0x555500000020]),
    comm(200, 200, 'second', T + 2000, misc=1 << 13), mmap2(200, 0x555500000000, 0x4000, 0, '/usr/bin/second', T + 2000),
    sample(200, 201, T + 3000, 1, [CONTEXT_USER, 0x555500000020]),
]
# A sample of the program before the exec, from another CPU's ring.
LATE = [sample(200, 200, T + 1900, 0, [CONTEXT_USER, 0x555500000030])]
SWITCHES = switches() if args.switches else [switch(T + 100 * i, 0, 100 + i % 2, 'first', 101 - i % 2, 'other') for i in range(1, 11)] if args.id else []
lost = [record(2, struct.pack('<QQ', SAMPLE_ID, args.lost) + end(T + 3100, 1))] if args.lost else []
round_end = [record(68, b'')]
if args.unsorted:
    records = CPU1 + CPU0 + LATE + SWITCHES + lost + round_end
else:
    records = CPU0[:4] + CPU0[4:5] + CPU1[:2] + CPU0[5:] + LATE + CPU1[2:] + SWITCHES + lost + round_end


def zstd(data):  # one frame, in raw blocks
    return struct.pack('<IBI', 0xfd2fb528, 0xa0, len(data)) + struct.pack('<I', len(data) << 3 | 1)[:3] + data


if args.compressed:
    # Records go on in the next compressed record.
    data = zstd(b''.join(records))
    half = len(data) // 2
    records = [struct.pack('<IHH', 81, 0, 8 + len(part)) + part for part in (data[:half], data[half:])]
data = b''.join(records)

features = {}
if args.id:
    features[1] = tracing_data()
features[2] = record(67, struct.pack('<I', 100) + BUILD_ID + b'\x14\0\0\0' + text('/usr/bin/first'), misc=USER | 1 << 15)
if not args.no_release:
    features[4] = string('6.1.0-test')
features[5] = string('6.1.0')
features[6] = string('x86_64')
features[7] = struct.pack('<II', 4, 2)
features[12] = struct.pack('<II', len(attrs), 96) + b''.join(a + struct.pack('<I', len(ids)) + string(name) +
                                                             struct.pack(f'<{len(ids)}Q', *ids) for a, ids, name in attrs)
if args.clock_data:
    features[29] = struct.pack('<IIQQ', 1, max(args.clock, 0), 1_700_000_000_000_000_000, T)

if args.stream:
    out = b'PERFILE2' + struct.pack('<Q', 16)
    for a, ids, _ in attrs:
        out += record(64, a + struct.pack(f'<{len(ids)}Q', *ids))
    for number, body in features.items():
        if number == 1:
            out += record(66, struct.pack('<I', len(body)) + bytes(4)) + body + bytes(-len(body) % 8)
        elif number == 2:
            out += body
        else:
            out += record(80, struct.pack('<Q', number) + body)
    out += data
else:
    ids_at = 104
    ids = b''.join(struct.pack(f'<{len(i)}Q', *i) for _, i, _ in attrs)
    attrs_at = ids_at + len(ids)
    entries = b''
    for a, i, _ in attrs:
        entries += a + struct.pack('<QQ', ids_at, 8 * len(i))
        ids_at += 8 * len(i)
    data_at = attrs_at + len(entries)
    bits = sum(1 << n for n in features)
    out = b'PERFILE2' + struct.pack('<QQ', 104, 96 + 16) + struct.pack('<QQQQQQ', attrs_at, len(entries), data_at, len(data), 0, 0)
    out += bits.to_bytes(32, 'little') + ids + entries + data
    at = len(out) + 16 * len(features)
    for body in features.values():
        out += struct.pack('<QQ', at, len(body))
        at += len(body)
    out += b''.join(features.values())
if args.big_endian:
    out = b'2ELIFREP' + out[8:]
with open(args.out, 'wb') as f:
    f.write(out[:len(out) - args.cut])
