# SPDX-License-Identifier: Apache-2.0
#
# usage: make_trace.py FILE EVENTS
#
# Writes a trace with about this many scheduling events of two CPUs and 40 threads, and some of everything else that a page
# shows: states, slices in levels, instants, counters, losses, names that are HTML. Equal arguments give equal traces.
import random
import struct
import sys

START = 1_000_000_000_000
NAMES = ['</script><script>window.broken=1</script>', '<img src=x onerror=alert(1)>', '<!--', '-->', ']]>', '"\'&amp;', 'ümläut 日本',
         '\u202egnirts', 'a\tb', '../../etc/passwd', '${1+1}', '__proto__', 'constructor']


def varint(v):
    v &= (1 << 64) - 1
    out = bytearray()
    while v > 127:
        out.append(v & 127 | 128)
        v >>= 7
    out.append(v)
    return bytes(out)


def number(field, v):
    return varint(field << 3) + varint(v)


def data(field, v):
    if isinstance(v, str):
        v = v.encode()
    return varint(field << 3 | 2) + varint(len(v)) + v


def packed(field, values):
    return data(field, b''.join(map(varint, values)))


def packet(body, sequence=2):
    return data(1, body + number(10, sequence))


def clocks():
    pairs = ((6, START), (3, START), (1, START))
    return packet(data(6, b''.join(data(1, number(1, c) + number(2, t)) for c, t in pairs)), 1)


def kernel():
    return packet(data(45, data(1, data(1, 'Linux') + data(2, '1') + data(3, '6.6.0') + data(4, 'x86_64'))), 1)


def tasks(threads):
    body = b''
    for pid in sorted({t['pid'] for t in threads}):
        body += data(1, number(1, pid) + number(2, 1) + data(3, f'/usr/bin/program{pid}'))
    for t in threads:
        if t['tid'] != t['pid']:
            body += data(2, number(1, t['tid']) + number(3, t['pid']))
    return packet(number(8, START) + data(2, body), 1)


class Bundle:
    """Compact scheduling events of one CPU."""

    def __init__(self, cpu, names):
        self.cpu, self.names = cpu, names
        self.clear()

    def clear(self):
        self.switches, self.wakings = [], []

    def bytes(self):
        def deltas(events):
            before = 0
            for e in events:
                yield e[0] - before
                before = e[0]
        s, w = self.switches, self.wakings
        body = b''.join(data(5, n) for n in self.names)
        body += packed(1, deltas(s)) + packed(2, (e[1] for e in s)) + packed(3, (e[2] for e in s))
        body += packed(4, (e[3] for e in s)) + packed(6, (e[4] for e in s))
        body += packed(7, deltas(w)) + packed(8, (e[1] for e in w)) + packed(9, (e[2] for e in w))
        body += packed(10, (e[3] for e in w)) + packed(11, (e[4] for e in w)) + packed(12, (e[5] for e in w))
        self.clear()
        return packet(data(1, number(1, self.cpu) + data(4, body)))


def schedule(events, threads, rng, write):
    """Two CPUs that switch between threads; returns the end."""
    names = ['swapper'] + [t['name'] for t in threads]
    cpus = [{'bundle': Bundle(c, names), 't': START + 1000 * (c + 1), 'thread': None, 'n': 0} for c in range(2)]
    ready, asleep, preempted = list(range(len(threads)))[:20], list(range(20, len(threads))), set()
    made = 0
    randrange = rng.randrange
    while made < events:
        cpu = cpus[0] if cpus[0]['t'] <= cpus[1]['t'] else cpus[1]
        bundle, t = cpu['bundle'], cpu['t']
        # Something wakes up, from the thread on this CPU or an interrupt.
        if asleep and randrange(4):
            k = asleep.pop(randrange(len(asleep)))
            at = t - randrange(1, 200)
            bundle.wakings.append((max(at, bundle.wakings[-1][0] if bundle.wakings else at), threads[k]['tid'], cpu['bundle'].cpu,
                                   120, k + 1, randrange(2) * 0x10))
            ready.append(k)
            made += 1
        # So does a thread that was preempted when it was about to sleep.
        elif preempted:
            k = min(preempted)
            preempted.remove(k)
            bundle.wakings.append((t, threads[k]['tid'], cpu['bundle'].cpu, 120, k + 1, 0))
            made += 1
        state = 0
        if cpu['thread'] is not None:
            state = (0, 1, 1, 2, 0x100)[randrange(5)]
            if state in (0, 0x100):
                ready.append(cpu['thread'])
                if state:
                    preempted.add(cpu['thread'])
            else:
                asleep.append(cpu['thread'])
        following = None
        if ready and randrange(8):
            following = ready.pop(randrange(len(ready)))
            preempted.discard(following)
        thread = threads[following] if following is not None else None
        bundle.switches.append((t, state, thread['tid'] if thread else 0, 120 - 20 * (randrange(20) == 0), following + 1 if thread else 0))
        cpu['thread'] = following
        cpu['t'] = t + (randrange(300, 4000) if randrange(50) else randrange(100000, 3000000))
        made += 1
        if len(bundle.switches) >= 1000:
            write(bundle.bytes())
    for cpu in cpus:
        write(cpu['bundle'].bytes())
    return max(c['t'] for c in cpus)


def print_event(t, tid, text):
    return data(2, number(1, t) + number(2, tid) + data(3, data(2, text + '\n')))


def switch_event(t, previous, state, following):
    return data(2, number(1, t) + number(2, previous) + data(4, data(1, f't{previous}') + number(2, previous) + number(3, 120) +
                number(4, state) + data(5, f't{following}') + number(6, following) + number(7, 120)))


def others(n, threads, rng, begin, end, write):
    """Slices, counters, and full events of a third CPU, some of which do not match."""
    span = max(end - begin, 10000)
    events = []
    t = begin
    for i in range(n):
        thread = threads[i % 7]
        t = begin + span * i // n
        pid, tid = thread['pid'], thread['tid']
        name = NAMES[i % len(NAMES)] if i % 3 else f'work {i % 50}'
        step = max(span // n // 10, 1)
        events += [(t, tid, f'B|{pid}|{name}'), (t + step, tid, f'B|{pid}|inner'), (t + 2 * step, tid, f'E|{pid}'),
                   (t + 3 * step, tid, f'E|{pid}'), (t + 4 * step, tid, f'C|{pid}|level {i % 2}|{rng.randrange(-5, 1000)}')]
    events.append((t + 1, threads[0]['tid'], f'B|{threads[0]["pid"]}|it does not end'))
    body = number(1, 2) + b''.join(print_event(*event) for event in sorted(events))
    for at, previous, state, following in ((10, 901, 1, 902), (20, 902, 2, 903), (30, 999, 2, 904), (40, 904, 0, 0), (40, 0, 0, 905)):
        body += switch_event(begin + at, previous, state, following)
    body += data(2, number(1, begin + 22) + number(2, 903) + data(18, number(1, 902) + number(2, 0xffff) + number(3, 1)))
    symbols = data(12, data(26, number(1, 0xffff) + data(2, 'io_schedule</script>')))
    write(packet(number(13, 1) + symbols + data(1, body), 3))
    for i in range(50):
        values = b''.join(data(1, number(1, key) + number(2, rng.randrange(1 << 22))) for key in (1, 2))
        write(packet(number(8, begin + span * i // 50) + data(7, values), 4))
    write(packet(number(13, 1) + data(60, number(1, 77) + data(2, 'real <b>') + data(8, data(6, 'wi</script>dgets'))), 5))
    write(packet(number(13, 1) + data(60, number(1, 78) + data(2, NAMES[0])), 5))
    for i in range(200):
        value = rng.random() * 1000 if i % 20 else rng.choice([1e300, -1e300, 0.1, -0.0, 2.0 ** 60])
        write(packet(number(8, begin + span * i // 200) + data(11, number(9, 4) + number(11, 77) + varint(44 << 3 | 1) +
                     struct.pack('<d', value)), 5))
        write(packet(number(8, begin + span * i // 200) + data(11, number(9, 3) + number(11, 78) + data(23, f'instant {i % 5}') +
                     data(22, 'cat <i>')), 5))


def call_stacks(threads, begin, end, write):
    """Samples of linux.perf, samples of another profiler with weights, and slices and waits with a stack at both ends."""
    functions = ['main', 'work', 'again', '</script><b>', 'sys_read']  # iids 1 to 5
    # Frames: function, mapping, offset. Two addresses of one function; two without a name; the kernel.
    frames = [(1, 1, 0x10), (2, 1, 0x20), (2, 1, 0x28), (3, 1, 0x30), (4, 2, 0x40), (0, 2, 0x1234), (0, 2, 0x5678), (5, 3, 0)]
    sites = [(1, 2), (1, 2, 4, 4), (1, 3, 5, 8), (1, 6), (1, 7, 8)]
    interned = b''.join(data(5, number(1, i + 1) + data(2, name)) for i, name in enumerate(functions))
    interned += b''.join(data(17, number(1, i + 1) + data(2, path)) for i, path in enumerate(('usr', 'bin', 'tool', 'lib<i>.so', 'kernel')))
    interned += data(19, number(1, 1) + number(4, 0x1000) + number(5, 0x9000) + b''.join(number(7, i) for i in (1, 2, 3)))
    interned += data(19, number(1, 2) + number(4, 0x10000) + number(5, 0x90000) + number(7, 1) + number(7, 4)) + data(19, number(1, 3) + number(7, 5))
    interned += b''.join(data(6, number(1, i + 1) + number(2, function) + number(3, mapping) + number(4, offset))
                         for i, (function, mapping, offset) in enumerate(frames))
    interned += b''.join(data(7, number(1, i + 1) + b''.join(number(2, f) for f in site)) for i, site in enumerate(sites))

    def state(defaults, sequence):
        write(packet(number(13, 1) + data(59, number(58, 6) + defaults) + data(12, interned), sequence))

    state(data(12, data(1, number(2, 99) + number(4, 2))), 6)
    state(data(100, data(1, 'some.profiler') + data(2, data(2, 'blocked') + number(3, 1))), 7)
    state(b'', 8)
    span = end - begin
    for i in range(300):
        t, thread, site = begin + span * i // 300, threads[i % 5], i % len(sites) + 1
        write(packet(number(8, t) + number(13, 2) + data(66, number(1, i % 2) + number(2, thread['pid']) + number(3, thread['tid']) +
                     number(4, site) + number(5, 2) + number(6, i)), 6))
        if i % 3 == 0:
            write(packet(number(8, t) + number(13, 2) + data(135, data(1, number(2, thread['pid']) + number(3, thread['tid'])) +
                         number(6, site) + number(11, 1000 * i)), 7))
    track = data(4, number(1, threads[0]['pid']) + number(2, threads[0]['tid']))
    write(packet(number(13, 2) + data(60, number(1, 79) + track), 8))
    write(packet(number(13, 2) + data(60, number(1, 80) + number(5, 79) + data(2, 'waits')), 8))
    for i in range(10):
        t = begin + span * i // 10
        for kind, at, site in ((1, t, 4), (2, t + span // 40, 5)):
            write(packet(number(8, at) + number(13, 2) + data(11, number(9, kind) + number(11, 80) + data(23, 'futex') + number(56, site)), 8))
    for i in range(20):
        t = begin + span * i // 20
        for kind, at, site in ((1, t, 2), (2, t + span // 50, 3)):
            write(packet(number(8, at) + number(13, 2) + data(11, number(9, kind) + number(11, 79) + data(22, 'waits') + data(23, 'a wait') +
                         number(56, site)), 8))


def main():
    path, events = sys.argv[1], int(sys.argv[2])
    rng = random.Random(1)
    threads = [{'tid': 100 + i, 'pid': 100 + i - i % 4, 'name': NAMES[i] if i < len(NAMES) else f'worker-{i}'} for i in range(40)]
    with open(path, 'wb') as f:
        f.write(clocks() + kernel() + tasks(threads))
        end = schedule(events, threads, rng, f.write)
        others(min(max(events // 20, 200), 20000), threads, rng, START + 500, end, f.write)
        call_stacks(threads, START + 500, end, f.write)


main()
