# SPDX-License-Identifier: Apache-2.0
#
# usage: decode.py SONDA TRACE PAGE [FROM TO]
#
# Decodes the columns of a page of sonda report --html, as src/analyze/page/page_columns.h describes them, and compares each
# row with sonda sql of the trace; with FROM and TO, ns since the trace's start, those that reach into this window. Of the
# threads of NOT_RECORDED (environment: tids with commas between) the page must have no states. Speaks TAP.
import base64
import html.parser
import json
import os
import struct
import subprocess
import sys
import zlib


class Page(html.parser.HTMLParser):
    """The elements of the page, by a parser that knows nothing of it."""

    def __init__(self, text):
        super().__init__()
        self.scripts, self.tags, self.inside = {}, [], None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag == 'script':
            self.inside = dict(attributes).get('id')
            self.scripts[self.inside] = ''

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, text):
        if self.inside is not None:
            self.scripts[self.inside] += text


class Column:
    def __init__(self, text):
        self.bytes, self.at = zlib.decompress(base64.b64decode(text, validate=True)), 0

    def number(self):
        v = shift = 0
        while True:
            byte = self.bytes[self.at]
            self.at += 1
            v |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return v

    def signed(self):
        v = self.number()
        return v >> 1 ^ -(v & 1)

    def nullable(self):
        v = self.number()
        return v - 1 if v else None

    def take(self, n):
        self.at += n
        return self.bytes[self.at - n:self.at]

    def more(self):
        return self.at < len(self.bytes)


def decode(page):
    facts = json.loads(page.scripts['facts'])
    start = int(facts['start'])
    c = {name: Column(text) for name, text in page.scripts.items() if name not in (None, 'facts')}
    strings = [None]
    while c['string'].more():
        strings.append(c['string'].take(c['string'].number()).decode(errors='replace'))

    def text(name):
        return strings[c[name].number()]

    tables = {'process': [], 'thread': [], 'sched': [], 'state': [], 'track': [], 'slice': [], 'counter': [],
              'function': [], 'site': [], 'stack': []}
    while c['process.pid'].more():
        tables['process'].append((c['process.pid'].signed(), text('process.name'), c['process.machine'].number()))
    while c['thread.tid'].more():
        tables['thread'].append((c['thread.tid'].signed(), text('thread.name'), c['thread.process'].nullable(),
                                 c['thread.idle'].number(), c['thread.machine'].number()))
    states = []
    while c['state.name'].more():
        states.append(text('state.name'))

    def state(name):
        v = c[name].nullable()
        return None if v is None else states[v]

    runs, priorities = {}, {}
    while c['cpu.id'].more():
        cpu, end = c['cpu.id'].number(), start
        for _ in range(c['cpu.runs'].number()):
            ts = end + c['run.gap'].signed()
            dur = c['run.dur'].nullable()
            thread = c['run.thread'].number()
            priorities[thread] = priorities.get(thread, 0) + c['run.priority'].signed()
            tables['sched'].append((cpu, ts, -1 if dur is None else dur, thread, state('run.end'), priorities[thread]))
            runs.setdefault(thread, []).append((ts, cpu, start + facts['end'] if dur is None else ts + dur))
            end = ts + (dur or 0)
    for thread in range(len(tables['thread'])):
        end, own, k = start, sorted(runs.get(thread, [])), 0
        for _ in range(c['thread.states'].number()):
            ts = end + c['state.gap'].signed()
            known = c['state.end'].number()
            name = state('state.state')
            while k < len(own) and own[k][0] < ts:
                k += 1
            run = own[k] if k < len(own) and (name != 'Running' or own[k][0] == ts) else None
            expected = start + facts['end'] if run is None else run[2] if name == 'Running' else run[0]
            dur = -1 if known == 0 else expected - ts - (known - 1 >> 1 ^ -(known - 1 & 1))
            cpu = waker = irq = function = io = None
            if name == 'Running':
                code = c['state.cpu'].number()
                cpu = run[1] if code == 0 else None if code == 1 else code - 2
            elif name == 'R':
                waker, irq = c['state.waker'].nullable(), c['state.irq'].nullable()
            else:
                code = c['state.blocked'].number()
                if code:
                    function, io = strings[code - 1 >> 1], (code - 1) & 1
            tables['state'].append((thread, ts, dur, name, cpu, waker, irq, function, io))
            end = ts + max(dur, 0)
    while c['track.id'].more():
        track = c['track.id'].number()
        row = [track, text('track.name'), text('track.type'), text('track.unit')]
        row += [c['track.' + name].nullable() for name in ('thread', 'process', 'cpu', 'parent')] + [c['track.machine'].number()]
        tables['track'].append(tuple(row))
        ts = start
        for _ in range(c['track.slices'].number()):
            ts += c['slice.time'].signed()
            dur = c['slice.dur'].nullable()
            tables['slice'].append((track, ts, -1 if dur is None else dur, text('slice.name'), text('slice.category'),
                                    c['slice.depth'].number()))
        n, real, ts, value = c['track.samples'].number(), c['track.real'].number(), start, 0
        for _ in range(n):
            ts += c['counter.time'].signed()
            if real:
                value = struct.unpack('<d', c['counter.real'].take(8))[0]
            else:
                value += c['counter.value'].signed()
            tables['counter'].append((track, ts, value))
    while c['function.name'].more():
        tables['function'].append((text('function.name'), text('function.file'), c['function.kind'].number()))
    while c['site.parent'].more():
        tables['site'].append((c['site.parent'].nullable(), tables['function'][c['site.function'].number()][0]))
    while c['profile.name'].more():
        name, ts = (text('profile.name'), text('profile.unit'), c['profile.edge'].number()), start
        for _ in range(c['profile.samples'].number()):
            ts += c['stack.time'].signed()
            tables['stack'].append(name + (ts, c['stack.thread'].nullable(), c['stack.site'].number(), c['stack.weight'].number()))
    tables['stack'].sort(key=str)
    left = [name for name, column in c.items() if column.more()]
    return tables, facts, left


FRAMES = ("select f.id, m.name as path, replace(m.name, rtrim(m.name, replace(m.name, '/', '')), '') as file,"
          " coalesce(f.name, replace(m.name, rtrim(m.name, replace(m.name, '/', '')), '') || '+0x' || printf('%x', rel_pc / 4096 * 4096)) as name"
          " from stack_profile_frame f join stack_profile_mapping m on m.id = f.mapping")
QUERIES = {
    'process': 'select pid, name, coalesce(machine_id, 0) from process order by upid',
    'thread': 'select tid, name, upid, is_idle = 1, coalesce(machine_id, 0) from thread order by utid',
    'sched': 'select cpu, ts, dur, utid, end_state, priority from sched where {window} order by cpu, ts, id',
    'state': 'select utid, ts, dur, state, ucpu, waker_utid, irq_context, blocked_function, io_wait from thread_state'
             ' where {window} and utid not in (select utid from thread where tid in ({not_recorded})) order by utid, ts, id',
    'track': 'select id, name, type, counter_unit, utid, upid, cpu, parent_id, coalesce(machine_id, 0) from __intrinsic_track'
             ' where id in (select track_id from slice where {window}) or id in (select track_id from counter where {samples})'
             ' or id in (select parent_id from __intrinsic_track) order by id',
    'slice': 'select track_id, ts, dur, name, category, depth from slice where {window} order by track_id, ts, id',
    # Frames with one name in files of one base name are a function; code without a name is one for each 4 KiB.
    'function': f"select name, path, path = '/kernel' from (select name, path, min(id) as id from ({FRAMES}) group by name, file) order by id",
    'site': f'select parent_id, name from stack_profile_callsite c join ({FRAMES}) f on f.id = c.frame_id order by c.id',
    # Samples of linux.perf count as one each, others by their first counter.
    'stack': "select 'CPU samples', 'count', 0, ts, utid, callsite_id, 1 from perf_sample where callsite_id is not null and {samples}"
             " union all select s.source || ': ' || t.name, t.unit, 0, s.ts, x.utid, callsite_id, cast(value as int) from stack_sample s"
             " join stack_sample_task_context x on x.id = s.task_context_id join stack_sample_counter c on c.stack_sample_id = s.id"
             " join stack_sample_counter_track t on t.id = c.track_id where s.source != 'linux.perf' and {samples}"
             " union all select iif(t.name = 'waits', 'waits, by the code that waited', 'slices, by the stack at their start'), 'ns', 1, ts, utid, callsite_id, dur"
             " from __intrinsic_track_event_callstacks c join slice s on s.id = c.slice_id join thread_track t on t.id = s.track_id"
             " where callsite_id is not null and {samples}"
             " union all select iif(t.name = 'waits', 'waits, by the code that ended them', 'slices, by the stack at their end'), 'ns', 2, ts, utid, end_callsite_id, dur"
             " from __intrinsic_track_event_callstacks c join slice s on s.id = c.slice_id join thread_track t on t.id = s.track_id"
             " where end_callsite_id is not null and {samples}",
    'counter': 'select track_id, ts, value from counter where {samples} order by track_id, ts, id',
}


def ask(sonda, trace, window, samples):
    """Each table as rows; values as JSON has them, text as sonda writes it."""
    answers = {}
    for name, query in QUERIES.items():
        done = subprocess.run([sonda, 'sql', '--json', trace, 
                               query.format(window=window, samples=samples, not_recorded=os.environ.get('NOT_RECORDED', ''))], capture_output=True)
        rows = json.loads(done.stdout.decode(errors='replace'), object_pairs_hook=lambda pairs: tuple(v for _, v in pairs))
        answers[name] = [tuple(row) for row in rows]
    answers['stack'].sort(key=str)
    return answers


def main():
    sonda, trace, path = sys.argv[1:4]
    text = open(path, encoding='utf-8').read()
    page = Page(text)
    tables, facts, left = decode(page)
    window, samples = '1', '1'
    if len(sys.argv) > 4:
        begin, end = (int(facts['start']) + int(v) for v in sys.argv[4:6])
        window = f'ts < {end} and (ts >= {begin} or dur < 0 or ts + dur > {begin})'
        samples = f'ts < {end} and ts >= {begin}'
    answers = ask(sonda, trace, window, samples)
    n = bad = 0

    def verdict(name, wrong):
        nonlocal n, bad
        n += 1
        bad |= bool(wrong)
        print(f'{"not ok" if wrong else "ok"} {n} - {name}')
        for line in wrong[:5]:
            print(f'#   {line}')

    for name, expected in answers.items():
        got = tables[name]
        wrong = [f'row {i}: {a} in the page, {b} in SQL' for i, (a, b) in enumerate(zip(got, expected)) if a != b]
        if len(got) != len(expected):
            wrong.append(f'{len(got)} rows in the page, {len(expected)} in SQL')
        verdict(f'{name}: {len(expected)} rows are those of sonda sql', wrong)
    verdict('no column has more', left)
    scripts = [a for tag, a in page.tags if tag == 'script' and a.get('type') is None]
    verdict('one script runs', [] if len(scripts) == 1 else [str(scripts)])
    policy = [a['content'] for tag, a in page.tags if tag == 'meta' and a.get('http-equiv') == 'Content-Security-Policy']
    verdict('the page forbids the network and other scripts',
            [] if policy and "default-src 'none'" in policy[0] and 'unsafe' not in policy[0] and '_HASH' not in policy[0] else policy)
    verdict('the page names no other host or file',
            [f'{tag} {a}' for tag, a in page.tags if tag in ('link', 'img', 'iframe', 'object', 'embed') or 'src' in a or 'href' in a])
    verdict('the data is ASCII', [] if all(page.scripts[name].isascii() for name in page.scripts if name) else ['it is not'])
    sys.exit(bad)


main()
