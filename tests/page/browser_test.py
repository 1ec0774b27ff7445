# SPDX-License-Identifier: Apache-2.0
#
# usage: browser_test.py SONDA DIR EVENTS [PICTURES]
#
# The page of sonda report --html in Chromium: by clicks, keys and pictures, and its tables against sonda sql. DIR gets the
# traces and pages; with PICTURES the pictures are kept there. Speaks TAP.
import json
import os
import re
import subprocess
import sys
import traceback

from browser import Browser, program

SONDA, DIR, EVENTS = sys.argv[1], sys.argv[2], int(sys.argv[3])
PICTURES = sys.argv[4] if len(sys.argv) > 4 else None
HERE = os.path.dirname(os.path.abspath(__file__))
READY = "window.sonda && !document.getElementById('main').hidden && sonda.frame.number > 0"
SHIFT = 8
N = BAD = 0


def verdict(name, good, why=''):
    global N, BAD
    N += 1
    BAD |= not good
    print(f'{"ok" if good else "not ok"} {N} - {name}', flush=True)
    if not good:
        print('\n'.join(f'#   {line}' for line in str(why).splitlines()[:30]), flush=True)


TESTS = []


def test(f):
    TESTS.append(f)
    return f


def make_page(events):
    trace, page = f'{DIR}/{events}.pftrace', f'{DIR}/{events}.html'
    subprocess.run([sys.executable, f'{HERE}/make_trace.py', trace, str(events)], check=True)
    subprocess.run([SONDA, 'report', '--html', trace, '-o', page], check=True, stderr=subprocess.DEVNULL)
    return trace, page


def sql(trace, query):
    out = subprocess.run([SONDA, 'sql', '--json', trace, query], capture_output=True, check=True).stdout
    return [tuple(v for _, v in row) for row in json.loads(out.decode(errors='replace'), object_pairs_hook=list)]


class Page:
    """The page in the browser, with what tests ask of it."""

    def __init__(self, browser, trace, path):
        self.b, self.trace, self.path = browser, trace, path

    def open(self):
        self.b.open(self.path, READY)
        self.settle()

    # Until what was asked for is drawn.
    def settle(self):
        self.b.run('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')

    def view(self):
        return self.b.run('({from: sonda.view.from, to: sonda.view.to, range: sonda.view.range})')

    def span(self):
        v = self.view()
        return v['to'] - v['from']

    # Where the row is in the window, by the text of its label.
    def row_box(self, kind, k=0):
        return self.b.run(f'''(() => {{
            const rows = sonda.tree.list.filter((row) => row.kind === {json.dumps(kind)}), row = rows[{k}];
            const canvas = document.getElementById("canvas").getBoundingClientRect();
            const scroll = document.getElementById("rows");
            scroll.scrollTop = Math.max(0, row.y - 60);
            return {{x: canvas.x, width: canvas.width, y: canvas.y + row.y - scroll.scrollTop, height: row.height, label: row.label,
                number: row.number, index: row.index}} }})()''')

    # Rows of a table of the range, numbers as they are.
    def table(self, tab):
        self.b.run(f'document.getElementById("tab-{tab}").click()')
        self.b.wait(f'''(() => {{ const {{ view }} = sonda, r = view.range || {{from: view.least, to: view.most + 1}};
            return document.getElementById("table").dataset.filled === `{tab} ${{r.from}} ${{r.to}}` }})()''')
        self.b.run('''(() => { const all = [...document.querySelectorAll("#table tbody button")].find((b) => /^Show all/.test(b.textContent));
            if (all) { delete document.getElementById("table").dataset.filled; all.click(); } })()''')
        self.b.wait('document.getElementById("table").dataset.filled')
        return [tuple(row) for row in self.b.run('''[...document.querySelectorAll("#table tbody tr")].map((tr) =>
            [...tr.cells].map((c) => c.dataset.value === undefined ? c.textContent : Number(c.dataset.value)))''')]

    def picture(self, name):
        if PICTURES:
            self.settle()
            self.b.picture(f'{PICTURES}/{name}.png')


# ---- tables against SQL --------------------------------------------------------------------------------------------

def compare_tables(p, what):
    facts = p.b.run('({start: sonda.model.facts.start, end: sonda.model.facts.end, least: sonda.view.least, most: sonda.view.most})')
    start = int(facts['start'])
    r = p.view()['range'] or {'from': facts['least'], 'to': facts['most'] + 1}
    begin, end, last = start + int(r['from']), start + int(r['to']), start + int(facts['end'])
    ends = f'iif(dur < 0, {last}, ts + dur)'
    inside = f'min({ends}, {end}) - max(ts, {begin})'
    overlap = f'ts < {end} and {ends} > {begin}'

    rows = sql(p.trace, f'''select tid, sum(iif(state = 'Running', {inside}, 0)), sum(iif(state in ('R', 'R+'), {inside}, 0)),
        sum(iif(state = 'D', {inside}, 0)), sum(iif(state in ('S', 'I'), {inside}, 0)) from thread_state join thread using (utid) where {overlap} group by utid''')
    got = [(t[1], t[3], t[5], t[6], t[7]) for t in p.table('threads')]
    wanted = {row for row in rows if any(row[1:])}
    verdict(f'{what}: CPU time by thread is that of sonda sql', set(got) == wanted and wanted,
            f'{sorted(set(got) ^ wanted)[:10]}')

    rows = sql(p.trace, f'''with states as (select utid, ts, dur, state in ('R', 'R+') as runnable,
        lag(state in ('R', 'R+') and dur >= 0, 1, 0) over (partition by utid order by ts, id) as goes_on,
        lead(iif(state in ('R', 'R+'), dur, 0), 1, 0) over (partition by utid order by ts, id) as more from thread_state),
        waits as (select utid, ts, dur + more as dur, row_number() over (partition by utid order by dur + more) as k,
        count(*) over (partition by utid) as n from states
        where runnable and not goes_on and dur >= 0 and more >= 0 and ts >= {begin} and ts < {end})
        select tid, n, sum(dur) / n, max(iif(k = (n + 1) / 2, dur, 0)), max(iif(k = (n * 99 + 99) / 100, dur, 0)), max(dur)
        from waits join thread using (utid) group by utid''')
    got = {(t[1],) + t[3:8] for t in p.table('wakeups')}
    verdict(f'{what}: wakeup latencies are those of sonda sql', got == set(rows) and rows, f'{sorted(got ^ set(rows))[:10]}')

    rows = sql(p.trace, f'''select name, count(*), sum({inside}), max({inside}) from slice
        where ts < {end} and (ts >= {begin} or {ends} > {begin}) group by name''')
    rows = [(re.sub('[\x00-\x1f\u202e]', '\ufffd', row[0]),) + row[1:] for row in rows]
    got = {(t[0], t[1], t[2], t[4]) for t in p.table('slices')}
    verdict(f'{what}: slices by name are those of sonda sql', got == set(rows) and rows, f'{sorted(got ^ set(rows))[:10]}')

    rows = sql(p.trace, f'''select count(*), min(value), max(value) from counter where ts >= {begin} and ts < {end} group by track_id''')
    got = [(t[3], t[4], t[6]) for t in p.table('counters')]
    verdict(f'{what}: counters are those of sonda sql', sorted(got) == sorted(rows) and rows, f'{sorted(got)} {sorted(rows)}')


@test
def tables_of_the_whole_trace(p):
    compare_tables(p, 'the whole trace')


@test
def a_range_is_dragged_on_the_ruler(p):
    ruler = p.b.box('#ruler')
    y = ruler['y'] + 12
    p.b.drag(ruler['x'] + ruler['width'] * 0.3, y, ruler['x'] + ruler['width'] * 0.6, y)
    r = p.view()['range']
    most = p.b.run('sonda.view.most')
    verdict('a drag on the ruler selects a range', r and abs(r['from'] / most - 0.3) < 0.01 and abs(r['to'] / most - 0.6) < 0.01, r)
    compare_tables(p, 'a range')
    verdict('the page says which range', ' to ' in p.b.run('document.getElementById("range-text").textContent'))
    p.picture('range')
    p.b.drag(ruler['x'] + ruler['width'] * 0.6, y, ruler['x'] + ruler['width'] * 0.8, y)
    r2 = p.view()['range']
    verdict('the edge of a range is dragged', r2['from'] == r['from'] and r2['to'] > r['to'], f'{r} {r2}')
    canvas = p.b.box('#canvas')
    p.b.drag(canvas['x'] + 50, canvas['y'] + 40, canvas['x'] + 250, canvas['y'] + 40, SHIFT)
    r3 = p.view()['range']
    verdict('a drag with Shift selects a range', r3 and r3['from'] < r['from'], f'{r} {r3}')
    compare_tables(p, 'another range')
    p.b.run('document.getElementById("clear-range").click()')
    verdict('a button clears the range', p.view()['range'] is None)


# ---- the mouse -----------------------------------------------------------------------------------------------------

@test
def the_wheel_zooms(p):
    box = p.row_box('cpu')
    x, y = box['x'] + box['width'] * 0.4, box['y'] + 5
    p.settle()
    before = p.view()
    under = before['from'] + 0.4 * (before['to'] - before['from'])
    for _ in range(5):
        p.b.wheel(x, y, dy=-200)
    p.b.wait(f'sonda.view.to - sonda.view.from < {(before["to"] - before["from"]) / 4}')
    after = p.view()
    still = after['from'] + 0.4 * (after['to'] - after['from'])
    verdict('the wheel zooms in where the pointer is', abs(still - under) < (after['to'] - after['from']) / 100, f'{under} {still}')
    p.b.wheel(x, y, dy=300, modifiers=SHIFT)
    p.b.wait(f'sonda.view.from > {after["from"]}')
    verdict('the wheel with Shift moves', abs(p.span() - (after['to'] - after['from'])) < 1, p.view())
    for _ in range(12):
        p.b.wheel(x, y, dy=300)
    p.b.wait('sonda.view.from === sonda.view.least && sonda.view.to === sonda.view.most')
    verdict('it does not zoom out farther than the trace', True)


@test
def a_drag_moves(p):
    box = p.row_box('cpu')
    p.b.run('sonda.showWindow(sonda.view.most * 0.4, sonda.view.most * 0.5)')
    p.settle()
    before = p.view()
    p.b.drag(box['x'] + 600, box['y'] + 5, box['x'] + 300, box['y'] + 5)
    moved = p.view()['from'] - before['from']
    verdict('a drag to the left moves to later times', abs(moved - 300 / box['width'] * p.span()) < p.span() / 100, p.view())
    p.b.run('document.getElementById("rows").scrollTop = 0')
    canvas = p.b.box('#canvas')
    p.b.drag(canvas['x'] + 300, canvas['y'] + 200, canvas['x'] + 300, canvas['y'] + 80)
    verdict('a drag upwards scrolls', p.b.run('document.getElementById("rows").scrollTop') == 120,
            p.b.run('document.getElementById("rows").scrollTop'))
    overview = p.b.box('#overview')
    p.b.click(overview['x'] + overview['width'] * 0.9, overview['y'] + 20)
    v = p.view()
    verdict('a click on the overview goes there', v['from'] < p.b.run('sonda.view.most') * 0.9 < v['to'], v)
    p.b.run('document.getElementById("rows").scrollTop = 0')
    p.b.key('0')


# The longest run of a CPU that the page has, and where it is drawn.
def longest_run(p):
    p.b.key('0')
    box = p.row_box('cpu')
    run = p.b.run('''(() => { const { runs } = sonda.model.cpus[0]; const i = runs.longestOf(0, runs.n);
        const t = sonda.model.threads[runs.key[i]];
        sonda.showWindow(runs.start[i] - (runs.end[i] - runs.start[i]) * 4, runs.end[i] + (runs.end[i] - runs.start[i]) * 4);
        return {i, start: runs.start[i], end: runs.end[i], name: t.name, tid: t.tid, id: t.id,
            x: sonda.xOf((runs.start[i] + runs.end[i]) / 2)} })()''')
    p.settle()
    return run, box['x'] + run['x'], box['y'] + box['height'] / 2


@test
def what_is_under_the_pointer(p):
    run, x, y = longest_run(p)
    p.b.mouse('mouseMoved', x, y)
    p.b.wait('!document.getElementById("tip").hidden')
    tip = p.b.run('document.getElementById("tip").innerText')
    verdict('the tooltip names the thread that runs', str(run['tid']) in tip and run['name'] in tip, tip)
    start = int(p.b.run('sonda.model.facts.start'))
    row = sql(p.trace, f'select tid, ts, dur from sched join thread using (utid) where cpu = 0 and ts = {start + int(run["start"])}')
    verdict('it is the run of sonda sql', row == [(run['tid'], start + run['start'], run['end'] - run['start'])], row)
    p.picture('hover')
    box = p.b.box('#tip')
    verdict('the tooltip is inside the window', box['x'] >= 0 and box['y'] >= 0 and box['x'] + box['width'] <= 1440 and
            box['y'] + box['height'] <= 900, box)
    p.b.click(x, y)
    chosen = p.b.run('sonda.view.selected && {index: sonda.view.selected.index, row: sonda.view.selected.row.kind}')
    verdict('a click selects it', chosen == {'index': run['i'], 'row': 'cpu'}, chosen)
    p.b.wait('document.querySelector("#table .selection h2") !== null')
    text = p.b.run('document.getElementById("table").innerText')
    verdict('the selection has its facts', all(word in text for word in (str(run['tid']), 'duration', 'priority')), text)
    p.picture('selection')
    p.b.mouse('mouseMoved', 300, 20)
    p.b.wait('document.getElementById("tip").hidden')
    verdict('the tooltip goes with the pointer', True)
    p.b.key('Escape')
    verdict('Escape clears the selection', p.b.run('sonda.view.selected === null'))


# ---- wakeups -------------------------------------------------------------------------------------------------------

# The first state of a thread that another thread woke, and what the page draws when it is selected.
WOKEN = '''(() => {
  for (const row of sonda.tree.list) {
    const lane = row.kind === "thread" && row.thread.states;
    for (let i = 0; lane && i + 1 < lane.n; i++) {
      const place = {row, lane, index: i}, [one] = sonda.arrowsOf(place);
      if (!one || one.woken !== row.thread || one.state !== i || one.waker === one.woken || !one.waker.row || sonda.tree.list[one.waker.row.index] !== one.waker.row)
        continue;
      const room = (lane.end[i] - lane.start[i]) * 4 + 1000;
      sonda.showWindow(lane.start[i] - room, lane.start[i] + room);
      document.getElementById("rows").scrollTop = Math.max(0, Math.min(row.y, one.waker.row.y) - 40);
      sonda.select(place);
      return {at: one.at, woken: row.thread.tid, waker: one.waker.tid, irq: one.irq, y: [row.y, one.waker.row.y], run: i + 1, row: row.index};
    }
  }
})()'''

# How many pixels of a column of the canvas, between two rows, have the colour of arrows.
ARROW_PIXELS = '''((t, y0, y1) => {
  const context = document.createElement("canvas").getContext("2d");
  context.fillStyle = sonda.colours.css.accent; context.fillRect(0, 0, 1, 1);
  const [r, g, b] = context.getImageData(0, 0, 1, 1).data, canvas = document.getElementById("canvas");
  const top = document.getElementById("rows").scrollTop, from = Math.min(y0, y1) - top + 24, height = Math.abs(y1 - y0) - 24;
  const {data} = canvas.getContext("2d").getImageData(Math.round(sonda.xOf(t)) - 1, Math.max(from, 0), 3, Math.max(height, 1));
  let n = 0;
  for (let i = 0; i < data.length; i += 4)
    n += Math.abs(data[i] - r) + Math.abs(data[i + 1] - g) + Math.abs(data[i + 2] - b) < 40;
  return n;
})'''


@test
def an_arrow_from_the_waker_to_the_woken_thread(p):
    found = p.b.run(WOKEN)
    p.settle()
    start = int(p.b.run('sonda.model.facts.start'))
    row = sql(p.trace, f"""select w.tid, s.irq_context from thread_state s join thread t using (utid) join thread w on w.utid = s.waker_utid
        where s.state = 'R' and t.tid = {found['woken']} and s.ts = {start + int(found['at'])}""")
    verdict('the waker is that of sonda sql', row and row[0][0] == found['waker'] and bool(row[0][1]) == found['irq'], f'{row} {found}')
    pixels = p.b.run(f'{ARROW_PIXELS}({found["at"]}, {found["y"][0]}, {found["y"][1]})')
    verdict('the arrow is drawn', p.b.run('sonda.frame.arrows') == 1 and pixels > 3, f'{pixels} {found}')
    p.picture('wakeup')
    p.b.run(f'sonda.select({{row: sonda.tree.list[{found["row"]}], lane: sonda.tree.list[{found["row"]}].thread.states, index: {found["run"]}}})')
    text = p.b.run('document.getElementById("table").innerText')
    verdict('the run after it names the waker', re.search(rf'woken by\s.* {found["waker"]}\b', text), text)
    p.b.key('Escape')
    p.settle()
    verdict('without a selection there is none', p.b.run('sonda.frame.arrows') == 0)


@test
def wakeups_of_a_thread_that_ran(p):
    got = p.b.run('''(() => {
      for (const thread of sonda.model.threads.filter((t) => t.states && t.row)) {
        for (let i = 0; i < thread.states.n; i++) {
          const arrows = sonda.arrowsOf({row: thread.row, lane: thread.states, index: i}).filter((a) => a.waker === thread);
          if (arrows.length)
            return {tid: thread.tid, from: thread.states.start[i], to: thread.states.end[i], woken: arrows.map((a) => [a.at, a.woken.tid])};
        }
      }
    })()''')
    start = int(p.b.run('sonda.model.facts.start'))
    rows = sql(p.trace, f"""select s.ts - {start}, t.tid from thread_state s join thread t using (utid) join thread w on w.utid = s.waker_utid
        where s.state = 'R' and w.tid = {got['tid']} and s.ts between {start + int(got['from'])} and {start + int(got['to'])} order by 1, 2""")
    verdict('the wakeups of a run are those of sonda sql', sorted(map(tuple, got['woken'])) == sorted(rows), f'{got} {rows}')
    p.b.run('document.getElementById("rows").scrollTop = 0')
    p.b.key('0')


# ---- keys ----------------------------------------------------------------------------------------------------------

@test
def wasd(p):
    p.b.run('document.getElementById("rows").focus()')
    p.b.key('0')
    whole = p.span()
    p.b.key('w')
    p.b.key('w')
    zoomed = p.view()
    verdict('W zooms in', p.span() < whole / 2, p.view())
    p.b.key('d')
    verdict('D moves to later times', p.view()['from'] > zoomed['from'], p.view())
    p.b.key('a')
    verdict('A moves back', abs(p.view()['from'] - zoomed['from']) < 1, p.view())
    p.b.key('s')
    p.b.key('s')
    p.b.key('s')
    verdict('S zooms out', abs(p.span() - whole) < 1, p.view())


@test
def keyboard_only(p):
    p.b.run('document.activeElement.blur()')
    p.open()
    verdict('the timeline has the focus at first', p.b.run('document.activeElement.id') == 'rows')
    p.b.key('ArrowDown')
    p.settle()
    label = p.b.run('document.getElementById(document.getElementById("rows").getAttribute("aria-activedescendant")).getAttribute("aria-label")')
    verdict('Down goes to the first CPU, which has a name', label and label.startswith('CPU 0'), label)
    p.b.key('w')
    p.b.key('ArrowRight')
    first = p.b.run('sonda.view.selected && sonda.view.selected.index')
    p.b.key('ArrowRight')
    second = p.b.run('sonda.view.selected.index')
    said = p.b.run('document.getElementById("live").textContent')
    verdict('Right selects one interval after the other', first is not None and second > first, f'{first} {second}')
    verdict('the interval is read out', 'duration' in said and 'start' in said, said)
    p.b.key('ArrowLeft')
    verdict('Left goes back', p.b.run('sonda.view.selected.index') == first)
    p.b.key('Enter')
    p.settle()
    around = p.b.run('({a: sonda.view.selected.lane.start[sonda.view.selected.index], b: sonda.view.selected.lane.end[sonda.view.selected.index]})')
    v = p.view()
    verdict('Enter zooms to it', v['from'] <= around['a'] and v['to'] >= around['b'] and v['to'] - v['from'] < (around['b'] - around['a']) * 10 + 1000, v)
    p.b.key('m')
    verdict('M makes it the range', p.view()['range'] == {'from': around['a'], 'to': around['b']}, p.view())
    p.b.key('ArrowRight', SHIFT)
    verdict('Shift and Right make the range longer', p.view()['range']['to'] > around['b'], p.view())
    compare_tables(p, 'a range by keys')
    p.b.run('document.getElementById("rows").focus()')
    p.b.key('[')
    verdict('[ begins the range at the interval', p.view()['range']['from'] > around['a'], p.view())
    p.b.key('Escape')
    p.b.key('Escape')
    verdict('Escape clears the selection, then the range', p.view()['range'] is None and p.b.run('sonda.view.selected === null'))
    p.b.key('Home')
    rows = p.b.run('sonda.tree.list.length')
    p.b.key('Enter')
    folded = p.b.run('sonda.tree.list.length')
    p.b.key('ArrowRight')
    verdict('Enter folds a group, Right unfolds it', folded < rows and p.b.run('sonda.tree.list.length') == rows, f'{rows} {folded}')
    p.b.key('End')
    p.settle()
    verdict('End shows the last row', p.b.run('sonda.tree.focus === sonda.tree.list.length - 1 && '
            'Boolean(document.getElementById(document.getElementById("rows").getAttribute("aria-activedescendant")))'))
    p.b.key('Home')
    p.b.key('?')
    verdict('? opens the help', p.b.run('document.getElementById("help").open'))
    p.picture('help')
    p.b.key('Escape')
    p.b.wait('!document.getElementById("help").open')
    verdict('Escape closes it', True)
    walk = []
    for _ in range(12):
        p.b.key('Tab')
        walk.append(p.b.run('document.activeElement.id || document.activeElement.className || document.activeElement.tagName'))
    verdict('Tab reaches the splitter, the tabs and the table',
            'splitter' in walk and any(w.startswith('tab-') for w in walk) and 'table' in walk, walk)
    p.b.run('document.getElementById("tab-threads").click(), document.getElementById("tab-threads").focus()')
    p.b.key('ArrowRight')
    verdict('arrows change the table', p.b.run('document.activeElement.id') == 'tab-wakeups' and
            p.b.run('document.getElementById("tab-wakeups").getAttribute("aria-selected")') == 'true')
    p.b.run('document.getElementById("splitter").focus()')
    height = p.b.box('#panel')['height']
    p.b.key('ArrowUp')
    verdict('arrows move the splitter', p.b.box('#panel')['height'] > height)
    p.b.key('ArrowDown')


@test
def search(p):
    p.b.run('document.getElementById("rows").focus()')
    p.b.key('0')
    p.b.key('/')
    verdict('/ goes to the search', p.b.run('document.activeElement.id') == 'search')
    p.b.type('worker-20')
    p.b.wait('document.querySelectorAll("#found li").length === 1')
    p.picture('search')
    p.b.key('Enter')
    label = p.b.run('sonda.tree.list[sonda.tree.focus].label')
    verdict('Enter goes to the thread', label.startswith('worker-20'), label)
    p.b.key('/')
    p.b.run('document.getElementById("search").value = ""')
    p.b.type('</script>')
    p.b.wait('document.querySelectorAll("#found li").length > 1')
    found = p.b.run('document.getElementById("found").innerText')
    verdict('a name that is HTML is found as text', 'window.broken=1' in found, found)
    p.b.run('document.getElementById("search").value = ""')
    p.b.type('inner')
    p.b.wait('/slices/.test(document.getElementById("found").innerText)')
    p.b.key('Enter')

    def place():
        p.b.wait('sonda.view.selected && sonda.view.selected.row.kind === "slices"')
        return p.b.run('({t: sonda.view.selected.lane.start[sonda.view.selected.index], '
                       'name: sonda.model.strings[sonda.view.selected.lane.key[sonda.view.selected.index]]})')
    one = place()
    p.b.key('n')
    two = place()
    p.b.key('p')
    again = place()
    verdict('a slice is found by name', one['name'] == 'inner', one)
    verdict('N and P go to the next and previous one', two['t'] > one['t'] and again == one, f'{one} {two} {again}')
    start = int(p.b.run('sonda.model.facts.start'))
    times = [row[0] - start for row in sql(p.trace, "select ts from slice where name = 'inner' order by ts limit 2")]
    verdict('they are the first two of sonda sql', [one['t'], two['t']] == times, f'{one} {two} {times}')
    p.b.key('/')
    p.b.run('document.getElementById("search").value = ""')
    p.b.type('no such name')
    p.b.wait('/nothing/.test(document.getElementById("found").innerText)')
    p.b.key('Escape')
    verdict('Escape leaves the search', p.b.run('document.getElementById("found").hidden && document.activeElement.id === "rows"'))
    p.b.key('Escape')
    p.b.key('0')


# ---- what people see, and what helpers of people hear --------------------------------------------------------------

@test
def everything_has_a_name(p):
    tree = p.b.call('Accessibility.getFullAXTree')['nodes']
    roles = ('button', 'tab', 'treeitem', 'combobox', 'searchbox', 'textbox', 'tree', 'tablist', 'tabpanel', 'separator', 'splitter',
             'columnheader', 'region', 'dialog')
    nodes = [(n['role']['value'], n.get('name', {}).get('value', '')) for n in tree if not n.get('ignored')]
    nameless = [role for role, name in nodes if role in roles and not name]
    verdict('each control has an accessible name', not nameless and {'tree', 'treeitem', 'tab', 'button'} <= {r for r, _ in nodes},
            f'{nameless} of {sorted(set(r for r, _ in nodes))}')
    ids = p.b.run('[...document.querySelectorAll("[id]")].map((e) => e.id)')
    verdict('no id is twice in the page', len(ids) == len(set(ids)), [i for i in ids if ids.count(i) > 1])


CONTRAST = '''(() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const light = (colour) => {
    canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map((v) => v / 255)
      .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
  };
  const ratio = (a, b) => { const x = light(a), y = light(b); return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05); };
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const fills = [...sonda.colours.fill, css("running"), css("runnable"), css("blocked")];
  return {text: ratio(css("ink"), css("paper")), labels: ratio(css("ink"), css("surface")), dim: ratio(css("dim"), css("surface")),
    link: ratio(css("accent"), css("paper")), warn: ratio(css("warn"), css("surface")),
    fills: Math.min(...fills.map((fill) => ratio(css("on-fill"), fill))),
    shapes: Math.min(ratio(css("running"), css("runnable")), 9)};
})()'''


@test
def light_and_dark(p):
    for scheme in ('light', 'dark'):
        p.b.scheme(scheme)
        p.b.wait(f'sonda.colours.dark === {json.dumps(scheme == "dark")}')
        p.settle()
        c = p.b.run(CONTRAST)
        verdict(f'{scheme}: text has the contrast of WCAG AA', min(c['text'], c['labels'], c['dim'], c['link'], c['warn'], c['fills']) >= 4.5, c)
        p.picture(scheme)
    p.b.scheme('light')
    p.b.wait('!sonda.colours.dark')
    p.b.run('document.getElementById("rows").focus()')
    p.b.key('t')
    p.settle()
    verdict('T switches to the other one', p.b.run('sonda.colours.dark && getComputedStyle(document.body).backgroundColor') == 'rgb(22, 24, 29)')
    p.b.key('t')
    verdict('and back', not p.b.run('sonda.colours.dark'))


# Elements of the page that people see beside each other, and which of them overlap or reach out of the window.
OVERLAPS = '''(() => {
  const seen = [...document.querySelectorAll("header > *, header h1 > *, .corner, #overview, #ruler, #rows, #splitter, .bar > *, #table, [role=tab]")]
    .filter((e) => e.getClientRects().length && e.offsetWidth > 1);
  const out = [];
  for (const e of seen) {
    const a = e.getBoundingClientRect();
    if (a.right > innerWidth + 1 && !e.closest("#tabs") || a.bottom > innerHeight + 1)
      out.push(`${e.id || e.className} reaches out of the window`);
    for (const f of seen) {
      if (e === f || e.contains(f) || f.contains(e))
        continue;
      const b = f.getBoundingClientRect();
      if (e.closest("#tabs") || f.closest("#tabs"))
        continue;
      if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1)
        out.push(`${e.id || e.className} is over ${f.id || f.className}`);
    }
  }
  return out;
})()'''


@test
def nothing_overlaps(p):
    for width, height in ((1440, 900), (1024, 700), (760, 600), (2400, 1300)):
        p.b.size(width, height)
        p.b.wait(f'innerWidth === {width}')
        p.settle()
        wrong = p.b.run(OVERLAPS)
        verdict(f'nothing overlaps at {width} x {height}', wrong == [], wrong)
        p.picture(f'{width}')
    p.b.size(1440, 900)
    p.b.wait('innerWidth === 1440')
    p.settle()


# Rows that are drawn without a label, or at another place than it.
UNLABELLED = '''(() => {
  const rows = document.getElementById("rows"), canvas = document.getElementById("canvas").getBoundingClientRect();
  const box = rows.getBoundingClientRect(), labels = [...document.querySelectorAll(".label")], wrong = [];
  if (Math.abs(canvas.height - rows.clientHeight) > 1)
    wrong.push(`the canvas has ${canvas.height} of ${rows.clientHeight} pixels`);
  for (const row of sonda.tree.list) {
    const y = row.y - rows.scrollTop;
    if (y + row.height <= 0 || y >= canvas.height)
      continue;
    const label = labels.find((l) => l.row === row);
    if (!label || Math.abs(label.getBoundingClientRect().top - box.top - y) > 1)
      wrong.push(`${row.label}: ${label ? label.getBoundingClientRect().top - box.top : "no label"}, not ${y}`);
  }
  return wrong;
})()'''


@test
def each_row_has_its_label(p):
    sizes = ((1440, 900), (1000, 500), (1440, 1200), (900, 640), (1440, 900))
    for width, height in sizes:
        p.b.size(width, height)
        p.b.wait(f'innerWidth === {width} && innerHeight === {height}')
        p.settle()
        wrong = p.b.run(UNLABELLED)
        verdict(f'each row has its label at {width} x {height}', wrong == [], '\n'.join(wrong))
    p.b.run('document.getElementById("splitter").focus()')
    for key in ('ArrowUp', 'ArrowUp', 'ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowUp'):
        p.b.key(key)
        p.settle()
        wrong = p.b.run(UNLABELLED)
        verdict(f'and after {key} on the splitter', wrong == [], '\n'.join(wrong))


# ---- the flame graph -----------------------------------------------------------------------------------------------

def flame(p, profile='CPU samples', kind='top-down'):
    """Shows the flame graph; returns its caption."""
    p.b.run('document.getElementById("tab-flame").click()')
    p.b.wait('sonda.flame.trees !== null')
    p.b.run(f'''for (const [name, text] of [["profile", {json.dumps(profile)}], ["view", {json.dumps(kind)}]]) {{
        const select = document.querySelector(".flame-" + name);
        select.value = [...select.options].find((o) => o.text === text || o.value === text).value;
        select.onchange();
    }}''')
    p.settle()
    return p.b.run('document.querySelector(".flame-caption").textContent')


def flame_boxes(p):
    """The boxes as (function, total, row), without the grey ones."""
    return [tuple(box) for box in p.b.run('''sonda.flame.boxes.filter(({node}) => node >= 0).map(({tree, node, row}) =>
        [node ? sonda.stacks.functions[tree.function[node]].text : "all", tree.total[node], row])''')]


def flame_click(p, text, button='left'):
    p.b.run('sonda.flame.canvas.scrollIntoView()')
    p.settle()
    at = p.b.run(f'''(() => {{ const box = sonda.flame.boxes.find(({{tree, node}}) => node > 0 &&
        sonda.stacks.functions[tree.function[node]].text === {json.dumps(text)});
        const c = sonda.flame.canvas.getBoundingClientRect();
        return [c.x + box.x + Math.min(box.width / 2, 40), c.y + box.row * 20 + 8]; }})()''')
    p.b.mouse('mouseMoved', *at)
    p.b.mouse('mousePressed', *at, button=button, buttons=1 if button == 'left' else 2, clickCount=1)
    p.b.mouse('mouseReleased', *at, button=button, clickCount=1)
    p.settle()


SAMPLES = """with recursive up(id, sample) as (select callsite_id, id from perf_sample where callsite_id is not null {where}
    union select c.parent_id, sample from up join stack_profile_callsite c using (id) where c.parent_id is not null)
    select coalesce(f.name, 'lib<i>.so+0x' || printf('%x', f.rel_pc / 4096 * 4096)), count(distinct sample) from up
    join stack_profile_callsite c using (id) join stack_profile_frame f on f.id = c.frame_id group by 1"""


@test
def the_flame_graph(p):
    p.b.key('Escape')
    said = flame(p)
    boxes = flame_boxes(p)
    verdict('the flame graph has all samples', boxes[0] == ('all', 300, 0) and said.startswith('CPU samples: 300'), f'{said} {boxes[:3]}')
    # No function is in two places of the tree, but for "again", which calls itself.
    totals = {}
    for text, total, _ in boxes[1:]:
        totals[text] = max(totals.get(text, 0), total)
    rows = dict(sql(p.trace, SAMPLES.format(where='')))
    two = {'lib<i>.so+0x1000', 'sys_read', 'work'}
    verdict('a function is as wide as its samples',
            {k: v for k, v in totals.items() if k not in two} == {k: v for k, v in rows.items() if k not in two}, f'{totals} {rows}')
    verdict('addresses without a name are apart', sorted(t for t in totals if '+0x' in t) == ['lib<i>.so+0x1000', 'lib<i>.so+0x5000'], totals)
    p.picture('flame')
    flame_click(p, 'again')
    verdict('a click zooms', flame_boxes(p)[0][0] == 'main' and all(box[0] != 'sys_read' for box in flame_boxes(p)), flame_boxes(p))
    p.b.key('Escape')
    verdict('Escape shows all', flame_boxes(p)[0][0] == 'all')
    flame(p, kind='bottom-up')
    own = dict(sql(p.trace, """select coalesce(f.name, 'lib<i>.so+0x' || printf('%x', f.rel_pc / 4096 * 4096)), count(*) from perf_sample s
        join stack_profile_callsite c on c.id = s.callsite_id join stack_profile_frame f on f.id = c.frame_id group by 1"""))
    verdict('bottom up begins with the functions that ran', {t: n for t, n, row in flame_boxes(p) if row == 1} == own, f'{flame_boxes(p)} {own}')
    flame_click(p, 'sys_read', 'right')
    boxes = flame_boxes(p)
    pivot = next(box for box in boxes if box[0] == 'sys_read')
    verdict('the right button makes a pivot', pivot[1] == rows['sys_read'] and {b[2] for b in boxes if b[0] == 'main'} < set(range(pivot[2])), boxes)
    p.picture('pivot')


@test
def the_search_of_the_flame_graph(p):
    flame(p)
    p.b.run('document.querySelector(".flame-search").focus()')
    p.b.type('AGAIN|x1000')
    said = p.b.run('document.querySelector(".flame-caption").textContent')
    n = sql(p.trace, """with recursive up(id, sample) as (select callsite_id, id from perf_sample union
        select c.parent_id, sample from up join stack_profile_callsite c using (id) where c.parent_id is not null)
        select count(distinct sample) from up join stack_profile_callsite c using (id) join stack_profile_frame f on f.id = c.frame_id
        where f.name = 'again' or f.rel_pc = 0x1234 -- in lib<i>.so+0x1000""")[0][0]
    verdict('the search sums what matches, each sample once', f'Matches: {n}, ' in said, said)
    p.b.run('[...document.querySelectorAll(".flame-bar button")].find((b) => b.textContent === "Only these stacks").click()')
    p.settle()
    verdict('only matching stacks', flame_boxes(p)[0] == ('all', n, 0), flame_boxes(p)[0])
    p.b.run('document.querySelector(".flame-filters button").click()')
    p.settle()
    verdict('and all again', flame_boxes(p)[0] == ('all', 300, 0), flame_boxes(p)[0])


@test
def the_flame_graph_follows(p):
    flame(p)
    start, most = int(p.b.run('sonda.model.facts.start')), p.b.run('sonda.view.most')
    ruler = p.b.box('#ruler')
    p.b.drag(ruler['x'] + ruler['width'] * 0.2, ruler['y'] + 9, ruler['x'] + ruler['width'] * 0.5, ruler['y'] + 9)
    r = p.view()['range']
    p.b.wait(f'sonda.flame.trees.down.total[0] < 300')
    n = sql(p.trace, f'select count(*) from perf_sample where ts >= {start + int(r["from"])} and ts < {start + int(r["to"])}')[0][0]
    verdict('the flame graph follows the range', flame_boxes(p)[0] == ('all', n, 0) and 0 < n < 300, f'{flame_boxes(p)[0]} {n}')
    p.b.run('document.getElementById("clear-range").click()')
    p.b.run('(() => { const row = sonda.tree.list.find((r) => r.kind === "thread" && r.thread.tid === 101); sonda.select({row, lane: row.thread.states, index: 0}); })()')
    p.b.wait('sonda.flame.thread && sonda.flame.thread.tid === 101')
    n = sql(p.trace, 'select count(*) from perf_sample join thread using (utid) where tid = 101')[0][0]
    verdict('and the selected thread', flame_boxes(p)[0] == ('all', n, 0) and n, f'{flame_boxes(p)[0]} {n}')
    p.b.run('sonda.select(null)')
    flame(p, 'waits, by the code that ended them')
    weight = sql(p.trace, "select sum(dur) from slice where name = 'futex'")[0][0]
    verdict('waits are apart from other slices', flame_boxes(p)[0] == ('all', weight, 0), flame_boxes(p)[0])
    said = flame(p, 'some.profiler: blocked')
    weight = sql(p.trace, 'select cast(sum(value) as int) from stack_sample_counter c join stack_sample s on s.id = stack_sample_id'
                 " where source = 'some.profiler'")[0][0]
    verdict('weights of another profiler are durations', flame_boxes(p)[0] == ('all', weight, 0) and f': {int(weight / 1e6)}.' in said, said)


@test
def from_a_slice_to_its_stack(p):
    p.b.run('document.getElementById("tab-slices").click()')
    p.b.run('document.getElementById("search").focus()')
    p.b.type('a wait')
    p.b.key('Enter')
    p.b.wait('document.querySelectorAll("#table .stack").length === 2')
    text = p.b.run('document.getElementById("table").innerText')
    verdict('a slice has the stacks at its begin and its end', 'Call stack at the start' in text and 'again (tool)' in text and
            'sys_read' in text.split('at the end')[1], text)
    p.b.run('[...document.querySelectorAll("#table button")].find((b) => b.textContent === "Show it in the flame graph").click()')
    p.b.wait('sonda.flame.focus !== null')
    verdict('and leads to them', p.b.run('sonda.stacks.functions[sonda.flame.focus.tree.function[sonda.flame.focus.node]].text') == 'again')
    p.b.run('sonda.select(null)')
    flame(p)
    p.b.run('sonda.flame.canvas.focus()')
    for key in ('ArrowDown', 'ArrowDown', 'Enter'):
        p.b.key(key)
    verdict('keys walk and zoom', p.b.run('sonda.flame.zoomed') > 0 and flame_boxes(p)[0][0] == 'main', flame_boxes(p)[:2])
    p.b.key('Escape')
    p.b.run('document.getElementById("tab-threads").click()')


# ---- what the page must not do -------------------------------------------------------------------------------------

@test
def hostile_names(p):
    verdict('no name became a script', p.b.run('window.broken') is None)
    verdict('no name became an element', p.b.run('document.querySelectorAll("#main img, #main b, #main i:not(#legend i), #main script").length') == 0)
    p.b.run('''(() => { const s = document.createElement("script"); s.textContent = "window.injected = 1"; document.body.append(s); s.remove(); })()''')
    verdict('another script does not run', p.b.run('window.injected') is None)
    verdict('the network is out of reach', p.b.run('fetch("http://127.0.0.1:9/").then(() => "reached", (e) => e.name)') == 'TypeError' and
            p.b.run('new Promise((done) => { const i = new Image(); i.onload = () => done("loaded"); i.onerror = () => done("refused");'
                    ' i.src = "data:image/gif;base64,R0lGODlhAQABAAAAACw=" })') == 'refused')


@test
def losses_are_shown(p):
    p.b.run('document.getElementById("tab-missing").click()')
    p.b.wait('document.querySelector("#table .about") !== null')
    text = p.b.run('document.getElementById("table").innerText')
    verdict('what the trace lost is in the page', 'mismatched_sched_switch_tids: 1' in text, text)
    verdict('what the page leaves out is in the page', re.search(r'The [\d,]+ kernel events themselves', text), text)
    verdict('the tab counts it', '(1)' in p.b.run('document.getElementById("tab-missing").textContent'))


def work(p):
    """The most that a frame drew and looked at, at many zooms, with the number of pixels that it drew on."""
    most = {'items': 0, 'steps': 0}
    rows = p.b.run('document.getElementById("rows").scrollTop = 0, sonda.tree.list.filter((r) => r.y < document.getElementById("canvas").clientHeight).length')
    width = p.b.run('document.getElementById("canvas").clientWidth')
    for k in range(0, 30, 2):
        p.b.run(f'''(() => {{ const whole = sonda.view.most - sonda.view.least, part = whole / 1.6 ** {k};
            sonda.showWindow(sonda.view.least + whole * 0.37, sonda.view.least + whole * 0.37 + part); }})()''')
        p.settle()
        f = p.b.run('({items: sonda.frame.items, steps: sonda.frame.steps})')
        most = {name: max(most[name], f[name]) for name in most}
    return most, rows * width


def frame_times(p):
    """Of frames while keys zoom, pan and step, as a person does: the median and the longest, in ms of the page's own work."""
    p.b.run('document.getElementById("rows").focus()')
    p.b.key('0')
    times = []
    for key in 'w' * 16 + 'd' * 12 + 'a' * 12 + 's' * 16 + 'wwww' + 'd' * 6:
        before = p.b.run('sonda.frame.number')
        p.b.key(key)
        p.b.wait(f'sonda.frame.number > {before} || sonda.view.from === sonda.view.least || sonda.view.to === sonda.view.most')
        times.append(p.b.run('sonda.frame.ms'))
    p.b.key('0')
    times.sort()
    return times[len(times) // 2], times[-1]


def frames_cost_by_pixels(b, events):
    # A tenth of many events has several in each pixel already: a frame of ten times as many costs hardly more.
    costs = {}
    for n in (events // 10, events) if events >= 1000000 else (events,):
        p = Page(b, *make_page(n))
        p.open()
        costs[n] = work(p)
    items, steps, pixels = costs[events][0]['items'], costs[events][0]['steps'], costs[events][1]
    size = os.path.getsize(p.path)
    verdict(f'a frame of {events} events draws at most a few things a pixel', items <= 4 * pixels, costs)
    verdict('and looks at no more rows a pixel than their logarithm asks for', steps <= 60 * pixels, costs)
    verdict('ten times as many events cost hardly more', all(items <= 1.3 * c['items'] and steps <= 2 * c['steps'] for c, _ in costs.values()), costs)
    print(f'# {events} events: {size} bytes of page, {items} items and {steps} steps a frame at most, on {pixels} pixels')
    for scheme in ('dark', 'light'):
        p.b.scheme(scheme)
        p.b.wait(f'sonda.colours.dark === {json.dumps(scheme == "dark")}')
        median, longest = frame_times(p)
        print(f'# {scheme}: a frame takes {median:.1f} ms (median), {longest:.1f} ms at most, while keys zoom and pan')
    verdict('the page has at most 6 bytes an event', size <= 6 * events + 200000, size)
    pixels_are_shares(p)
    p.picture('large')


# The columns of a CPU's row that have many runs: how many of their pixels are coloured, and of which time they are.
COLUMNS = """(() => {
  const canvas = document.getElementById("canvas"), row = sonda.tree.list[%d], { runs } = row.cpu, { view } = sonda;
  const top = row.y - document.getElementById("rows").scrollTop + 3, height = row.height - 6, width = canvas.clientWidth;
  const { data } = canvas.getContext("2d").getImageData(0, top, width, height), found = [];
  const timeAt = (x) => view.from + x / view.width * (view.to - view.from);
  for (let x = 0; x < width; x++) {
    const t0 = timeAt(x), t1 = timeAt(x + 1), least = t1 - t0;
    let i = runs.first(t0), crowded = runs.last(t1) - i > 2;
    for (; crowded && i < runs.last(t1); i++)
      crowded = runs.end[i] - runs.start[i] < least;
    if (!crowded)
      continue;
    let coloured = 0;
    for (let y = 0; y < height; y++) {
      const pixel = data.subarray(4 * (y * width + x), 4 * (y * width + x) + 3);
      coloured += Math.max(...pixel) - Math.min(...pixel) > 20;
    }
    found.push({x, t0, t1, coloured, height});
  }
  return found;
})()"""


def pixels_are_shares(p):
    p.b.key('0')
    box = p.row_box('cpu')
    p.settle()
    start = int(p.b.run('sonda.model.facts.start'))
    columns = p.b.run(COLUMNS % box['index'])
    wrong = []
    for column in columns[::max(len(columns) // 12, 1)]:
        t0, t1 = start + column['t0'], start + column['t1']
        busy = sql(p.trace, f'''select sum(min(iif(dur < 0, {t1}, ts + dur), {t1}) - max(ts, {t0})) from sched join thread using (utid)
            where cpu = 0 and not is_idle and ts < {t1} and iif(dur < 0, {t1}, ts + dur) > {t0}''')[0][0] or 0
        if abs(column['coloured'] - column['height'] * busy / (t1 - t0)) > 1.5:
            wrong.append(f'{column}: {busy / (t1 - t0)} of it is busy')
    verdict('the picture shows how busy a CPU was', len(columns) > 5 and not wrong, f'{len(columns)} columns ' + '\n'.join(wrong))


def a_page_without_the_end(b, page):
    text = open(page).read()
    with open(f'{DIR}/part.html', 'w') as f:
        f.write(re.sub(r'"wanted":\d+,"leftOut":0', '"wanted":99000000000,"leftOut":1234567', text))
    b.open(f'{DIR}/part.html', READY)
    b.run('document.getElementById("tab-missing").click()')
    b.wait('document.querySelector("#table .about") !== null')
    said = b.run('document.getElementById("table").innerText')
    end = int(re.search(r'"to":(\d+)', text)[1]) / 1e9
    verdict('a page that does not hold the end of the trace says so', '1,234,567 later rows are left out' in said and f'--html --from {end:.6f} ' in said, said)
    verdict('and does not call itself the whole trace', b.run('document.getElementById("range-text").textContent') == 'whole page')


def page_of_text(b, source):
    """Opens the page of a trace that is text in the directory of the tests."""
    name, root = os.path.basename(source).split('.')[0], f'{HERE}/../..'
    trace, path = f'{DIR}/{name}.pftrace', f'{DIR}/{name}.html'
    with open(f'{root}/tests/{source}') as text, open(trace, 'wb') as out:
        subprocess.run(['protoc', f'-I{root}/protos', '--encode=perfetto.protos.Trace', f'{root}/protos/trace/trace.proto'], stdin=text,
                       stdout=out, check=True)
    subprocess.run([SONDA, 'report', '--html', trace, '-o', path], check=True, stderr=subprocess.DEVNULL)
    p = Page(b, trace, path)
    p.open()
    return p


def from_a_sleep_to_its_code(b):
    p = page_of_text(b, 'data/stacks/waits.txtpb')
    b.run('''(() => { const row = sonda.tree.list.find((r) => r.kind === "thread" && r.thread.tid === 10), lane = row.thread.states;
        sonda.select({row, lane, index: lane.at(120e6)}); })()''')
    b.wait('document.querySelectorAll("#table .stack").length === 2')
    said = b.run('[...document.querySelectorAll("#table .stack")].map((list) => [list.previousSibling.textContent, list.innerText])')
    verdict('a sleep has the code that waited and the code that ended the wait',
            [title for title, _ in said] == ['The code that waited', 'The code that ended the wait'] and 'lock_queue (app)' in said[0][1] and
            'unlock_queue (app)' in said[1][1], said)
    boxes = []
    for profile in ('CPU samples', 'linux.waits: blocked', 'waits, by the code that waited', 'waits, by the code that ended them'):
        b.run('sonda.select(null)')
        flame(p, profile)
        boxes.append(flame_boxes(p)[0][1])
    verdict('profiles of samples, of totals, of waits and of wakers', boxes == [7, 180200000, 174988000, 174988000], boxes)
    names = b.run('sonda.stacks.functions.map(({text}) => text)')
    verdict('code without a name has one function for 4 KiB', [n for n in names if '+0x' in n] == ['app+0x1000', 'app+0x3000'], names)
    p.picture('waits')


def two_machines(b):
    p = page_of_text(b, 'interop/sql_traces/machines.txtpb')
    trace = p.trace
    labels = b.run('sonda.tree.list.map((row) => row.label)')
    tracks = sql(trace, 'select name, cpu, machine_id from __intrinsic_track where cpu is not null and id in (select track_id from counter)')
    expected = sorted(f'{name}, CPU {cpu} (machine {machine})' for name, cpu, machine in tracks)
    found = sorted(label for label in labels if ', CPU ' in label)
    verdict('two machines: each counter of a CPU has its machine', len({machine for _, _, machine in tracks}) == 2 and found == expected,
            f'{found}\n{expected}')
    cpus = [label for label in labels if label.startswith('CPU ')]
    verdict('each CPU has its machine', cpus == ['CPU 0 (machine 0)', 'CPU 0 (machine 1)'], cpus)
    threads = sorted((row[0], row[1]) for row in p.table('threads'))
    expected = sorted((f'{name} (machine {machine})', tid) for name, tid, machine in
                      sql(trace, 'select distinct name, tid, machine_id from thread_state join thread using (utid) where not is_idle'))
    verdict('and each thread', threads == expected, f'{threads}\n{expected}')
    p.picture('machines')


def damaged_pages(b, page):
    text = open(page).read()
    at = text.index('id="run.dur">') + 40
    with open(f'{DIR}/damaged.html', 'w') as f:
        f.write(text[:at] + '/' * 40 + text[at + 40:])
    b.open(f'{DIR}/damaged.html', '/cannot be read/.test(document.body && document.body.innerText)')
    verdict('a page whose data is damaged says so', True)
    script = b.call('Page.addScriptToEvaluateOnNewDocument', source='delete window.DecompressionStream')['identifier']
    b.open(page, '/too old/.test(document.body && document.body.innerText)')
    verdict('a browser that cannot unpack the data says so', True)
    b.call('Page.removeScriptToEvaluateOnNewDocument', identifier=script)


def main():
    if not program():
        print('there is no Chromium; make check-page installs it', file=sys.stderr)
        sys.exit(77)
    small = make_page(5000)
    try:
        b = Browser()
    except (EOFError, TimeoutError, OSError) as error:
        print(f'Chromium does not start here: {error}', file=sys.stderr)
        sys.exit(77)
    try:
        b.scheme('light')
        p = Page(b, *small)
        p.open()
        verdict('it asks for nothing but itself', [u for u in b.requests() if not u.startswith('file:')] == [] and len(b.requests()) == 1, b.requests())
        verdict('the browser has no complaint', b.complaints() == [], b.complaints())
        for f in TESTS:
            try:
                f(p)
            except Exception:
                verdict(f.__name__.replace('_', ' '), False, traceback.format_exc())
        refusals = [c for c in b.complaints() if 'Content Security Policy' not in c]
        verdict('nothing went wrong in the page', refusals == [], refusals)
        frames_cost_by_pixels(b, EVENTS)
        a_page_without_the_end(b, small[1])
        damaged_pages(b, small[1])
        two_machines(b)
        from_a_sleep_to_its_code(b)
    finally:
        b.close()
    sys.exit(BAD)


main()
