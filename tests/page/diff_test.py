# SPDX-License-Identifier: Apache-2.0
#
# usage: diff_test.py SONDA DIR
#
# The page of sonda diff --html in Chromium: its rows against sonda diff --json, its flame graph against the samples that the
# recordings were made of, keys, search, hostile names. Speaks TAP.
import json
import os
import subprocess
import sys

from browser import Browser

SONDA, DIR = sys.argv[1:3]
HOSTILE = "</script><img src=x onerror=document.title='bad'><!--"
FUNCTIONS = ['main', 'hash_block', 'parse_line', 'only_before', 'only_after', HOSTILE]
# Samples of a second, each of 10 ms, by innermost function; each is called by main. B lasts twice as long as A.
SAMPLES = {'a': {1: 20, 2: 30, 3: 10, 5: 20}, 'b': {1: 30, 2: 15, 4: 10, 5: 20}}
SECONDS = {'a': 2, 'b': 4}
N = BAD = 0


def verdict(name, good, why=''):
    global N, BAD
    N += 1
    BAD |= not good
    print(f'{"ok" if good else "not ok"} {N} - {name}', flush=True)
    if not good:
        print('\n'.join(f'#   {line}' for line in str(why).splitlines()[:30]), flush=True)


def text(value):
    return json.dumps(value)


def make(side, number):
    start, out = 1_000_000_000_000 + (10 * 'ab'.index(side) + number) * 10**10, []
    out.append('packet { trusted_packet_sequence_id: 1 trace_config { data_sources { config { name: "linux.perf" '
               'perf_event_config { timebase { frequency: 100 } } } } } }')
    out.append('packet { trusted_packet_sequence_id: 1 process_tree { processes { pid: 10 ppid: 1 cmdline: "load" } } }')
    names = ' '.join(f'function_names {{ iid: {i + 1} str: {text(name)} }}' for i, name in enumerate(FUNCTIONS))
    frames = ' '.join(f'frames {{ iid: {i + 1} function_name_id: {i + 1} mapping_id: 1 rel_pc: {16 * i} }}' for i in range(len(FUNCTIONS)))
    stacks = ' '.join(f'callstacks {{ iid: {i + 1} frame_ids: 1 frame_ids: {i + 1} }}' for i in range(1, len(FUNCTIONS)))
    out.append(f'packet {{ trusted_packet_sequence_id: 2 sequence_flags: 1 timestamp: {start} interned_data {{ mapping_paths {{ iid: 1 '
               f'str: "load" }} mappings {{ iid: 1 path_string_ids: 1 }} {names} {frames} {stacks} }} }}')
    order = [site for site, n in SAMPLES[side].items() for _ in range(n)]
    for second in range(SECONDS[side]):
        for k, site in enumerate(order):
            out.append(f'packet {{ trusted_packet_sequence_id: 2 sequence_flags: 2 timestamp: {start + second * 10**9 + k * 10**7} '
                       f'perf_sample {{ cpu: 0 pid: 10 tid: 10 callstack_iid: {site + 1} cpu_mode: MODE_USER }} }}')
    events = ''.join(f'event {{ timestamp: {start + k * 10**8} pid: 10 print {{ buf: "x" }} }} ' for k in range(10 * SECONDS[side] + 1))
    out.append(f'packet {{ trusted_packet_sequence_id: 1 ftrace_events {{ cpu: 0 {events} }} }}')
    path = f'{DIR}/{side}{number}{HOSTILE[:9].replace("/", "")}.pf'
    with open(path, 'wb') as f:
        f.write(subprocess.run(['protoc', '-Iprotos', '--encode=perfetto.protos.Trace', 'protos/trace/trace.proto'],
                               input='\n'.join(out).encode(), stdout=subprocess.PIPE, check=True).stdout)
    return path


def make_switches(side):
    tid, start, end = {'a': (10, 1500, 3000), 'b': (20, 500, 4000)}[side]
    base, events = 2_000_000_000_000 + 10**10 * 'ab'.index(side), []

    def switch(ms, was, now):
        comm = {0: 'swapper', tid: 'load'}
        events.append(f'event {{ timestamp: {base + ms * 10**6} pid: {was} sched_switch {{ prev_comm: "{comm[was]}" prev_pid: {was} prev_prio: 120 '
                      f'prev_state: {1 if was else 0} next_comm: "{comm[now]}" next_pid: {now} next_prio: 120 }} }}')

    for ms in [0, *range(start, end, 10)]:
        switch(ms, 0, tid)
        switch(ms + 3, tid, 0)
    path = f'{DIR}/switches-{side}.pf'
    with open(path, 'wb') as f:
        f.write(subprocess.run(['protoc', '-Iprotos', '--encode=perfetto.protos.Trace', 'protos/trace/trace.proto'], input=(
            f'packet {{ trusted_packet_sequence_id: 1 process_tree {{ processes {{ pid: {tid} ppid: 1 cmdline: "load" }} }} }} '
            f'packet {{ trusted_packet_sequence_id: 1 ftrace_events {{ cpu: 0 {" ".join(events)} }} }}').encode(),
            stdout=subprocess.PIPE, check=True).stdout)
    return path


a, b, page = [make('a', i) for i in range(3)], [make('b', i) for i in range(3)], f'{DIR}/diff.html'
both = [*a, '--', *b]
made = subprocess.run([SONDA, 'diff', '--html', page, *both], capture_output=True, text=True)
verdict('a page', made.returncode == 0 and not made.stdout and os.stat(page).st_mode & 0o777 == 0o600, made.stderr)
rows = json.loads(subprocess.run([SONDA, 'diff', '--json', *both], capture_output=True, check=True).stdout)['changes']
again = subprocess.run([SONDA, 'diff', '--html', b[0], *both], capture_output=True, text=True)
verdict('a recording is not overwritten', again.returncode == 2 and 'is one of the recordings' in again.stderr, again.stderr)
browser = Browser()
try:
    browser.open(page, 'window.sonda && sonda.flame.boxes.length > 0')

    def run(code):
        return browser.run(code)

    def caption():
        return run('document.getElementById("caption").textContent')

    def node(function):
        """The times of a function below main: A and B."""
        return run(f'(() => {{ const t = sonda.flame.tree, i = t.name.findIndex((n) => n >= 0 && sonda.stacks.names[n][0] === {text(function)});'
                   ' return i < 0 ? null : [t.a[i], t.b[i], i]; })()')

    verdict('no errors, and nothing of the network', not browser.complaints() and
            all(url.startswith(('file:', 'data:')) for url in browser.requests()), browser.complaints() + browser.requests())
    head = run('document.getElementById("sides").textContent')
    verdict('the recordings of both sides', all(path in head for path in a + b), head)
    verdict('the rows are those of --json', run('sonda.rows.changes') == rows and len(rows) > 0)
    run('document.getElementById("all-rows").checked || document.getElementById("all-rows").click()')
    verdict('each row is in the table', run('document.querySelectorAll("#table tbody tr").length') == len(rows))
    cells = run('[...document.querySelectorAll("#table tbody tr")].map((r) => r.cells[8].textContent)')
    verdict('names are text', any(HOSTILE in cell for cell in cells) and run('document.images.length') == 0 and
            run('document.title') == 'sonda diff', cells)

    good = True
    for i, name in enumerate(FUNCTIONS[1:], 1):
        got = node(name)
        # The windows end with the last event.
        good &= got is not None and all(abs(v - SAMPLES[s].get(i, 0) * 1e7) < 2e5 for v, s in zip(got, 'ab'))
    verdict('times of functions are those of the samples in a second', good, [node(name) for name in FUNCTIONS])
    hues = [run(f'sonda.colourOf({node(name)[2]})').split()[-1] for name in ('hash_block', 'parse_line')]
    verdict('what takes more is red, what takes less is blue', hues == ['30)', '250)'], hues)

    width = 'sonda.flame.boxes.some((x) => sonda.stacks.names[sonda.flame.tree.name[x.node]]?.[0] === "only_before")'
    verdict('what is gone has no width in B', not run(width))
    run('(() => { const w = document.getElementById("width"); w.value = "a"; w.onchange(); })()')
    verdict('and one in A', run(width))
    run('(() => { const w = document.getElementById("width"); w.value = "max"; w.onchange(); })()')
    verdict('the larger of both has all', run(width) and run(width.replace('only_before', 'only_after')))

    run('document.getElementById("canvas").focus()')
    for key in ('ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowDown'):
        browser.key(key)
    focus = run('document.getElementById("details").textContent')
    verdict('arrow keys go to a function, with both times', 'parse_line (load); A ' in focus and ', B ' in focus and 'share of the total' in focus, focus)
    browser.key('Enter')
    verdict('Enter zooms', run('sonda.flame.zoomed') == node('parse_line')[2])
    browser.key('Escape')
    verdict('Escape shows the whole', run('sonda.flame.zoomed') == 0)

    browser.key('/')
    browser.type('only_')
    verdict('a search has the sums of its matches', 'Matches: A 100 ms, B 100 ms' in caption() or 'Matches: A 99' in caption() or
            'Matches: A 10' in caption(), caption())
    row = run('(() => { const i = sonda.table.shown.findIndex((c) => (c.what || "").startsWith("hash_block")); '
              'const b = document.querySelectorAll("#table tbody tr")[i].cells[8]; b.scrollIntoView(); const r = b.getBoundingClientRect(); '
              'return { x: r.x + 5, y: r.y + r.height / 2 }; })()')
    browser.click(row['x'], row['y'])
    verdict('a row finds its function', run('document.getElementById("search").value') == '^hash_block$', caption())
    run('document.querySelector("th button").click()')
    order = run('sonda.table.shown.map((c) => c.change_pct === null ? (c.b > 0 ? Infinity : -Infinity) : c.change_pct).map((v) => String(v))')
    numbers = [float(v.replace('Infinity', 'inf')) for v in order]
    verdict('a title sorts', numbers == sorted(numbers, reverse=True), order)

    # Two timelines. Thread 10 (A) or 20 (B) of load runs 3 ms of each 10 ms from 1.5 s after the beginning of A, 0.5 s of B.
    timelines = f'{DIR}/timelines.html'
    made = subprocess.run([SONDA, 'diff', '--all', '--html', timelines, '--timelines', make_switches('a'), make_switches('b')],
                          capture_output=True, text=True)
    verdict('a page with timelines', made.returncode == 0, made.stderr)
    browser.open(timelines, 'window.sonda && sonda.timelines.pages.length === 2 && sonda.timelines.pages.every((p) => p.sonda.frame.number > 1)')
    verdict('they load without an error or the network', not browser.complaints() and
            all(url.startswith(('file:', 'data:', 'about:')) for url in browser.requests()), browser.complaints() + browser.requests())
    run('window.at = (i) => { const { sonda: { view }, zero } = sonda.timelines.pages[i]; return [view.from - zero, view.to - zero].map(Math.round); }')
    run('window.pageOf = (i) => sonda.timelines.pages[i].sonda')
    run('window.rowOf = (i) => { const p = pageOf(i); return p.tree.list[p.tree.focus].label; }')
    verdict('both show the whole period of the longer one', run('at(0)') == run('at(1)') and run('at(0)')[1] > 3e9, run('[at(0), at(1)]'))
    run('document.getElementById("timelines").scrollIntoView()')
    run('document.getElementById("timeline-A").contentDocument.getElementById("rows").focus()')
    for key in ('w', 'w', 'd'):
        browser.key(key)
    browser.wait('at(0)[1] - at(0)[0] < 2.5e9 && at(0)[0] === at(1)[0] && at(0)[1] === at(1)[1]')
    verdict('keys in A move B, too', run('at(0)') == run('at(1)'), run('[at(0), at(1)]'))
    run('(() => { const p = pageOf(0), row = [...p.everyRow()].find(({ label }) => label === "load 10"); p.unfoldTo(row); p.focusRow(row.index); })()')
    browser.wait('rowOf(1) === "load 20"')
    verdict('the row of the same name', run('rowOf(1)') == 'load 20', run('[rowOf(0), rowOf(1)]'))
    for i in range(2):
        run(f'(() => {{ const p = pageOf({i}), row = [...p.everyRow()].find(({{ thread }}) => thread && thread.name === "load"); '
            'p.select({ row, lane: row.thread.states, index: row.thread.states.key.findIndex((k, j) => j > 0 && '
            'row.thread.states.end[j] - row.thread.states.start[j] === 3e6) }); })()')
    run('document.getElementById("align-selected").click()')
    starts = run('[0, 1].map((i) => { const { selected } = pageOf(i).view; return selected.lane.start[selected.index] - sonda.timelines.pages[i].zero; })')
    verdict('selected intervals are aligned', starts == [0, 0], starts)
    browser.wait('at(0)[0] === at(1)[0]')
    verdict('and both show the same period', run('at(0)') == run('at(1)'), run('[at(0), at(1)]'))
    run('pageOf(0).setRange(sonda.timelines.pages[0].zero, sonda.timelines.pages[0].zero + 2e6)')
    browser.wait('pageOf(1).view.range')
    verdict('a range of A is one of B', run('pageOf(1).view.range.from - sonda.timelines.pages[1].zero') == 0)
    verdict('no errors until the end', not browser.complaints(), browser.complaints())
finally:
    browser.close()
print(f'1..{N}')
sys.exit(BAD)
