#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# usage: trace_dat.py OUT DIR [OPTION]...    writes a trace.dat with the pages and formats of DIR (tests/data/ftrace/*)
#
#     --version 6|7   --compression none|zlib|zstd   --clock NAME   --date MICROSECONDS   --offset NS   --tsc MULTIPLIER,SHIFT,OFFSET
#     --second DIR   the pages of a second buffer, "second"      --tail BYTES   leaves out the end of the file
#     --pages N         only the first N pages of each CPU
#     --big-endian
#
# Prints the number of records in the pages. Format: trace-cmd.dat.v6(5), trace-cmd.dat.v7(5).
import argparse
import glob
import os
import struct
import sys
import zlib

parser = argparse.ArgumentParser()
parser.add_argument('out')
parser.add_argument('directory')
parser.add_argument('--version', default='6')
parser.add_argument('--compression', default='none')
parser.add_argument('--clock', default='boot')
parser.add_argument('--date', type=int)
parser.add_argument('--offset', type=int)
parser.add_argument('--tsc')
parser.add_argument('--second')
parser.add_argument('--tail', type=int, default=0)
parser.add_argument('--big-endian', action='store_true')
parser.add_argument('--pages', type=int, default=1 << 20)
parser.add_argument('--cmdlines', default='1 init\n2 kthreadd\n')
args = parser.parse_args()
PAGE = 4096


def read(path):
    with open(path, 'rb') as f:
        return f.read()


def count_records(page):
    # Types of records: ring_page.c.
    n, at = 0, 16
    end = at + (struct.unpack_from('<Q', page, 8)[0] & (1 << 27) - 1)
    while at < end:
        head, = struct.unpack_from('<I', page, at)
        kind = head & 31
        if 1 <= kind <= 28:
            n, at = n + 1, at + 4 + kind * 4
        elif kind == 0:
            n, at = n + 1, at + 4 + (struct.unpack_from('<I', page, at + 4)[0] + 3) // 4 * 4
        elif kind == 29:
            if head >> 5 == 0:
                break
            at += 4 + struct.unpack_from('<I', page, at + 4)[0]
        else:
            at += 8
    return n


def pages_of(directory):
    return [read(path)[:args.pages * PAGE] for path in sorted(glob.glob(f'{directory}/cpu*.pages'))]


def stats_of(directory, name):
    stats = [] if not name else [f'\nBuffer: {name}\n\n'.encode()]
    for i, path in enumerate(sorted(glob.glob(f'{directory}/cpu*.stats'))):
        stats.append(b'CPU: %d\n' % i + read(path))
    return stats


def zstd_frame(data):
    # One frame of a known size, in raw blocks.
    out = struct.pack('<IBI', 0xfd2fb528, 0xa0, len(data))
    blocks = [data[i:i + 65536] for i in range(0, len(data), 65536)] or [b'']
    for i, block in enumerate(blocks):
        out += struct.pack('<I', len(block) << 3 | (i == len(blocks) - 1))[:3] + block
    return out


def packed(data):
    return {'zlib': zlib.compress, 'zstd': zstd_frame}[args.compression](data)


def formats(groups):
    # Each group with the formats of its events.
    out = []
    for group in groups:
        paths = sorted(glob.glob(f'{args.directory}/events/{group}/*/format'))
        if args.second:
            paths += sorted(p for p in glob.glob(f'{args.second}/events/{group}/*/format')
                            if not os.path.exists(p.replace(args.second, args.directory)))
        out.append((group, [read(path) for path in paths]))
    return out


groups = sorted({os.path.basename(path) for directory in (args.directory, args.second) if directory
                 for path in glob.glob(f'{directory}/events/*') if os.path.isdir(path)})
header_page = read(f'{args.directory}/events/header_page')
header = b'header_page\0' + struct.pack('<Q', len(header_page)) + header_page + b'header_event\0' + struct.pack('<Q', 2) + b'x\n'
ftrace = formats(['ftrace'])[0][1]
ftrace_formats = struct.pack('<I', len(ftrace)) + b''.join(struct.pack('<Q', len(f)) + f for f in ftrace)
others = formats([g for g in groups if g != 'ftrace'])
event_formats = struct.pack('<I', len(others))
for group, texts in others:
    event_formats += group.encode() + b'\0' + struct.pack('<I', len(texts))
    event_formats += b''.join(struct.pack('<Q', len(f)) + f for f in texts)
kallsyms = b'ffffffff81000000 T first_function\nffffffff82000000 T last_function\nffffffff83000000 D data\n'
kallsyms = struct.pack('<I', len(kallsyms)) + kallsyms
printk_path = f'{args.directory}/printk_formats'
printk = read(printk_path) if os.path.exists(printk_path) else b''
printk = struct.pack('<I', len(printk)) + printk
cmdlines = args.cmdlines.encode()
cmdlines = struct.pack('<Q', len(cmdlines)) + cmdlines

options = [(4, f'local global [{args.clock}] tai'.encode() + b'\0'), (5, b'Linux host 6.1.0-test x86_64\0'), (9, b'3.1.6\0')]
if args.date is not None:
    options.append((1, b'0x%x\0' % args.date))
if args.offset is not None:
    options.append((7, b'%d\0' % args.offset))
if args.tsc:
    options.append((14, struct.pack('<IIQ', *map(int, args.tsc.split(',')))))
options += [(2, text + b'\0') for text in stats_of(args.directory, '')]
if args.second:
    options += [(2, text + b'\0') for text in stats_of(args.second, 'second')]
buffers = [('', pages_of(args.directory))] + ([('second', pages_of(args.second))] if args.second else [])
head = b'\x17\x08\x44tracing' + args.version.encode() + b'\0' + bytes([args.big_endian, 8]) + struct.pack('<I', PAGE)


def aligned(data):
    return data + bytes(-len(data) % PAGE)


def version_6():
    # The pages come last; their places are known when everything before them is.
    def layout(places, second_at):
        out = head + header + ftrace_formats + event_formats + kallsyms + printk + cmdlines
        out += struct.pack('<I', len(buffers[0][1])) + b'options  \0'
        for number, data in options + ([(3, struct.pack('<Q', second_at) + b'second\0')] if args.second else []):
            out += struct.pack('<HI', number, len(data)) + data
        out += struct.pack('<H', 0) + b'flyrecord\0'
        out += b''.join(struct.pack('<QQ', *place) for place in places[0])
        at = len(out)
        if args.second:
            out += b'options  \0' + struct.pack('<HII', 8, 4, len(buffers[1][1])) + struct.pack('<H', 0) + b'flyrecord\0'
            out += b''.join(struct.pack('<QQ', *place) for place in places[1])
        return out, at
    places = [[(0, 0)] * len(pages) for _, pages in buffers]
    out, second_at = layout(places, 0)
    at = len(aligned(out))
    for i, (_, all_pages) in enumerate(buffers):
        for k, pages in enumerate(all_pages):
            places[i][k] = (at, len(pages))
            at += len(aligned(pages))
    out = aligned(layout(places, second_at)[0])
    for _, all_pages in buffers:
        for pages in all_pages:
            out += aligned(pages)
    return out


def version_7():
    out = bytearray(head + args.compression.encode() + b'\0' + b'1.0\0' + bytes(8))
    first_options_at = len(out) - 8

    def section(number, data, may_pack=True):
        at = len(out)
        is_packed = may_pack and args.compression != 'none'
        if is_packed:
            small = packed(data)
            data = struct.pack('<II', len(small), len(data)) + small
        out.extend(struct.pack('<HHIQ', number, is_packed, 0, len(data)) + data)
        return at

    named = [(number, struct.pack('<Q', section(number, data))) for number, data in
             [(16, header), (17, ftrace_formats), (18, event_formats), (19, kallsyms), (20, printk), (21, cmdlines)]]
    for name, all_pages in buffers:
        start = len(out)
        out.extend(bytes(16))
        cpus = b''
        for i, pages in enumerate(all_pages):
            out.extend(bytes(-len(out) % PAGE))
            at = len(out)
            if args.compression == 'none':
                out.extend(pages)
            else:
                chunks = [pages[k:k + 3 * PAGE] for k in range(0, len(pages), 3 * PAGE)]
                out.extend(struct.pack('<I', len(chunks)))
                for chunk in chunks:
                    small = packed(chunk)
                    out.extend(struct.pack('<II', len(small), len(chunk)) + small)
            size = len(out) - at - (4 if args.compression != 'none' else 0)
            cpus += struct.pack('<IQQ', i, at, size)
        struct.pack_into('<HHIQ', out, start, 3, args.compression != 'none', 0, len(out) - start - 16)
        named.append((3, struct.pack('<Q', start) + name.encode() + b'\0' + args.clock.encode() + b'\0' +
                      struct.pack('<II', PAGE, len(all_pages)) + cpus))

    def chain(entries, following):
        data = b''.join(struct.pack('<HI', number, len(d)) + d for number, d in entries + [(0, struct.pack('<Q', following))])
        return section(0, data, may_pack=False)
    last = chain(named[6:], 0)
    struct.pack_into('<Q', out, first_options_at, chain(options + named[:6], last))
    return bytes(out)


data = version_6() if args.version == '6' else version_7()
with open(args.out, 'wb') as f:
    f.write(data[:len(data) - args.tail])
print(sum(count_records(pages[i:i + PAGE]) for _, all_pages in buffers for pages in all_pages for i in range(0, len(pages), PAGE)))
