// SPDX-License-Identifier: Apache-2.0
// The trace in memory: threads, processes, CPUs with their runs, states of threads, tracks.

const UNKNOWN = -1; // the key of a row for time that the trace does not cover
// Classes of thread states, whose time is summed up.
const RUNNING = 1, RUNNABLE = 2, BLOCKED = 3, ASLEEP = 4, STATE_CLASSES = 4;

const model = {
  facts: null, strings: [], states: [], stateClass: [],
  processes: [], threads: [], cpus: [], tracks: [], overlaps: 0,
};

// Lets the browser draw what the page says meanwhile.
function breathe() {
  return new Promise((resolve) => setTimeout(resolve));
}

async function columnsNamed(prefix, names) {
  const columns = {};
  for (const name of names)
    columns[name] = await takeColumn(`${prefix}.${name}`);
  return columns;
}

// ---- names ----

async function readTasks() {
  const p = await columnsNamed("process", ["pid", "name", "machine"]);
  while (!p.pid.ended)
    model.processes.push({
      pid: p.pid.signed(), name: model.strings[p.name.number()] || "", machine: p.machine.number(), threads: [], run: 0,
    });
  const t = await columnsNamed("thread", ["tid", "name", "process", "idle", "machine"]);
  while (!t.tid.ended) {
    const tid = t.tid.signed(), name = model.strings[t.name.number()] || "";
    const process = model.processes[t.process.number() - 1] || null;
    const thread = {
      id: model.threads.length, tid, process, idle: t.idle.number() === 1, machine: t.machine.number(),
      name: name || (process && process.name) || "", states: null, tracks: [], run: 0, runs: 0,
    };
    model.threads.push(thread);
    if (process)
      process.threads.push(thread);
  }
  for (const name of (await takeColumn("state.name")).rest())
    model.states.push(model.strings[name] || "");
  model.stateClass = model.states.map(classOfState);
}

// By the first letter; the others are stopped, traced or gone.
function classOfState(name) {
  if (name === "Running")
    return RUNNING;
  return { R: RUNNABLE, D: BLOCKED, S: ASLEEP, I: ASLEEP }[name[0]] || 0;
}

// A name of the machine, where there is more than one.
function machineText(machine) {
  return model.facts.machines > 1 ? ` (machine ${machine})` : "";
}

function cpuText(id) {
  return `CPU ${id % 4096}${machineText(Math.floor(id / 4096))}`;
}

// ---- rows without overlaps, with rows for the holes between them ----

// Joins rows of (gap, length or -1, fields) to edges: row i lasts from edge i to edge i + 1. A row that did not end lasts
// until the next one. put(i): writes the fields of a row; hole(i): those of a hole.
class Joiner {
  constructor(edges, at) {
    Object.assign(this, { edges, at, first: at, end: 0, openBefore: false, open: new Set() });
  }

  // Returns the index of the row.
  add(gap, length, hole) {
    const { edges, first } = this;
    let start = this.end + gap;
    if (this.at > first) {
      if (start < edges[this.at - 1]) {
        model.overlaps++;
        start = edges[this.at - 1];
      }
      if (gap > 0 && !this.openBefore) {
        hole(this.at);
        edges[this.at++] = this.end;
      }
    }
    edges[this.at] = start;
    this.openBefore = length < 0;
    if (this.openBefore)
      this.open.add(this.at - first);
    this.end = start + Math.max(length, 0);
    return this.at++;
  }

  // Returns the number of rows, and sets the edge behind the last one.
  finish() {
    const n = this.at - this.first;
    if (n)
      this.edges[this.at] = this.openBefore ? Math.max(model.facts.end, this.end) : this.end;
    return n;
  }
}

// How many numbers of a column are not 0: each of them may be a hole.
function notZero({ bytes }) {
  let n = 0;
  for (let i = 0; i < bytes.length; i++)
    if (bytes[i] && (i === 0 || bytes[i - 1] < 128))
      n++;
  return n;
}

function laneOf(joiner, key, classOf, classes) {
  const n = joiner.finish(), first = joiner.first;
  const edges = joiner.edges.subarray(first, first + n + 1);
  const lane = new Lane(edges, edges.subarray(1), key.subarray(first, first + n), n, classOf, classes);
  lane.open = joiner.open;
  lane.offset = first; // of other columns of its rows
  lane.prepare();
  return lane;
}

// ---- runs ----

function runClass(thread) {
  return thread !== UNKNOWN && !model.threads[thread].idle ? 1 : 0;
}

async function readRuns() {
  const ids = (await takeColumn("cpu.id")).rest(), counts = (await takeColumn("cpu.runs")).rest();
  const c = await columnsNamed("run", ["gap", "dur", "thread", "end", "priority"]);
  const room = model.facts.runs + notZero(c.gap) + ids.length;
  const edges = new Float64Array(room), thread = new Int32Array(room);
  const endState = model.runEnd = new Uint16Array(room), priority = model.runPriority = new Int32Array(room);
  const last = new Map();
  const hole = (i) => thread[i] = UNKNOWN;
  let at = 0;
  for (let k = 0; k < ids.length; k++) {
    const joiner = new Joiner(edges, at);
    for (let j = 0; j < counts[k]; j++) {
      const i = joiner.add(c.gap.signed(), c.dur.number() - 1, hole);
      const id = thread[i] = c.thread.number();
      endState[i] = c.end.number();
      priority[i] = (last.get(id) || 0) + c.priority.signed();
      last.set(id, priority[i]);
    }
    const runs = laneOf(joiner, thread, runClass, 1);
    model.cpus.push({ id: ids[k], runs });
    at += runs.n + 1;
    await breathe();
  }
}

// The runs of each thread in time order, as (CPU, row) in two columns, merged from those of the CPUs.
function mergeRuns() {
  const { cpus, threads } = model;
  const begin = new Uint32Array(threads.length + 1);
  for (const { runs } of cpus)
    for (let i = 0; i < runs.n; i++)
      if (runs.key[i] !== UNKNOWN)
        begin[runs.key[i] + 1]++;
  for (let t = 0; t < threads.length; t++)
    begin[t + 1] += begin[t];
  const cpuOf = new Uint16Array(begin[threads.length]), rowOf = new Uint32Array(begin[threads.length]);
  const next = begin.slice();
  // A heap of CPUs by the start of their next run, and by number.
  const at = new Uint32Array(cpus.length);
  const heap = [];
  const before = (a, b) => {
    const ta = cpus[a].runs.start[at[a]], tb = cpus[b].runs.start[at[b]];
    return ta < tb || (ta === tb && a < b);
  };
  const sink = (i) => {
    for (;;) {
      let least = i;
      for (const child of [2 * i + 1, 2 * i + 2])
        if (child < heap.length && before(heap[child], heap[least]))
          least = child;
      if (least === i)
        return;
      [heap[i], heap[least]] = [heap[least], heap[i]];
      i = least;
    }
  };
  for (let cpu = 0; cpu < cpus.length; cpu++)
    if (cpus[cpu].runs.n)
      heap.push(cpu);
  for (let i = heap.length >> 1; i >= 0; i--)
    sink(i);
  while (heap.length) {
    const cpu = heap[0], { runs } = cpus[cpu], row = at[cpu]++;
    if (runs.key[row] !== UNKNOWN) {
      const place = next[runs.key[row]]++;
      cpuOf[place] = cpu;
      rowOf[place] = row;
    }
    if (at[cpu] >= runs.n)
      heap[0] = heap[heap.length - 1], heap.pop();
    sink(0);
  }
  return { begin, cpuOf, rowOf };
}

// ---- states ----

function stateClassOf(state) {
  return state > 0 ? model.stateClass[state - 1] : 0;
}

// The runs give the ends of states (src/analyze/page/page_tasks.c).
async function readStates(merged) {
  const counts = (await takeColumn("thread.states")).rest();
  const c = await columnsNamed("state", ["gap", "end", "state", "cpu", "waker", "irq", "blocked"]);
  const room = model.facts.states + notZero(c.gap) + counts.length;
  const edges = new Float64Array(room), state = new Int16Array(room);
  // Running: number of the CPU +1; runnable: 4 times waker +1, and irq +1; blocked: as its column.
  const more = model.stateMore = new Uint32Array(room);
  const hole = (i) => state[i] = UNKNOWN;
  let at = 0, breath = 0;
  for (let t = 0; t < counts.length; t++) {
    if (!counts[t])
      continue;
    const joiner = new Joiner(edges, at);
    let run = merged.begin[t], expected, length;
    const runsEnd = merged.begin[t + 1];
    for (let j = 0; j < counts[t]; j++) {
      const gap = c.gap.signed(), end = c.end.number(), code = c.state.number();
      const start = joiner.end + gap, kind = stateClassOf(code);
      while (run < runsEnd && startOf(merged, run) < start)
        run++;
      const runs = run < runsEnd && (kind !== RUNNING || startOf(merged, run) === start);
      expected = model.facts.end;
      if (runs && kind === RUNNING)
        expected = endOf(merged, run);
      else if (runs)
        expected = startOf(merged, run);
      length = end === 0 ? -1 : expected - start - unsigned(end - 1);
      const i = joiner.add(gap, length, hole);
      state[i] = code;
      more[i] = kind === RUNNING ? cpuOfState(c.cpu.number(), runs ? model.cpus[merged.cpuOf[run]].id : UNKNOWN)
        : model.states[code - 1] === "R" ? 4 * c.waker.number() + c.irq.number() : c.blocked.number();
    }
    const lane = laneOf(joiner, state, stateClassOf, STATE_CLASSES);
    model.threads[t].states = lane;
    at += lane.n + 1;
    if ((breath += lane.n) > 200000) {
      breath = 0;
      await breathe();
    }
  }
}

function startOf(merged, run) {
  return model.cpus[merged.cpuOf[run]].runs.start[merged.rowOf[run]];
}

function endOf(merged, run) {
  const { runs } = model.cpus[merged.cpuOf[run]], row = merged.rowOf[run];
  return runs.open.has(row) ? model.facts.end : runs.end[row];
}

function unsigned(zigzag) {
  return zigzag % 2 ? -(zigzag + 1) / 2 : zigzag / 2;
}

function cpuOfState(code, runs) {
  return code === 0 ? runs + 1 : code - 1;
}

// ---- tracks ----

async function readTracks() {
  const c = await columnsNamed("track", ["id", "name", "type", "unit", "thread", "process", "cpu", "parent", "machine",
    "slices", "samples", "real"]);
  const s = await columnsNamed("slice", ["time", "dur", "name", "category", "depth"]);
  const v = await columnsNamed("counter", ["time", "value", "real"]);
  const text = (column) => model.strings[column.number()] || "";
  while (!c.id.ended) {
    const track = {
      id: c.id.number(), name: text(c.name), type: text(c.type), unit: text(c.unit),
      thread: model.threads[c.thread.number() - 1] || null, process: model.processes[c.process.number() - 1] || null,
      cpu: c.cpu.number() - 1, parent: c.parent.number() - 1, machine: c.machine.number(), lanes: [], samples: null,
    };
    track.slices = c.slices.number();
    if (track.slices)
      track.lanes = readSlices(s, track.slices);
    const n = c.samples.number(), real = c.real.number();
    if (n)
      track.samples = readSamples(v, n, real === 1);
    model.tracks.push(track);
    if (track.slices + n > 100000)
      await breathe();
  }
}

// One lane for each depth.
function readSlices(c, n) {
  const time = new Float64Array(n), dur = new Float64Array(n), name = new Uint32Array(n), category = new Uint32Array(n);
  const depth = new Uint32Array(n);
  const counts = [];
  for (let i = 0, before = 0; i < n; i++) {
    time[i] = before += c.time.signed();
    dur[i] = c.dur.number() - 1;
    name[i] = c.name.number();
    category[i] = c.category.number();
    depth[i] = c.depth.number();
    counts[depth[i]] = (counts[depth[i]] || 0) + 1;
  }
  const lanes = [], depths = Object.keys(counts).map(Number);
  for (const d of depths) {
    const m = counts[d];
    const start = new Float64Array(m), end = new Float64Array(m), key = new Uint32Array(m);
    const lane = new Lane(start, end, key, m, () => 1, 1);
    lane.category = new Uint32Array(m);
    lane.open = new Set();
    lane.depth = d;
    lanes[d] = lane;
    lane.n = 0;
  }
  for (let i = 0; i < n; i++) {
    const lane = lanes[depth[i]], j = lane.n++;
    lane.start[j] = time[i];
    lane.end[j] = dur[i] < 0 ? Math.max(model.facts.end, time[i]) : time[i] + dur[i];
    lane.key[j] = name[i];
    lane.category[j] = category[i];
    if (dur[i] < 0)
      lane.open.add(j);
    if (j > 0 && lane.end[j - 1] > time[i]) {
      if (!lane.open.has(j - 1))
        model.overlaps++;
      lane.end[j - 1] = time[i];
    }
  }
  const used = lanes.filter(Boolean);
  used.forEach((lane) => lane.prepare());
  return used;
}

function readSamples(c, n, real) {
  const time = new Float64Array(n), value = new Float64Array(n);
  const bytes = c.real.bytes;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let i = 0, before = 0, last = 0; i < n; i++) {
    time[i] = before += c.time.signed();
    if (real) {
      value[i] = view.getFloat64(c.real.at, true);
      c.real.at += 8;
    } else {
      value[i] = last += c.value.signed();
    }
  }
  const samples = new Samples(time, value);
  samples.prepare();
  return samples;
}

// ---- all of it ----

// tell(text): what it reads.
async function readModel(tell) {
  const { runs, states, slices, samples } = model.facts = takeFacts();
  tell("names");
  model.strings = await takeStrings();
  await readTasks();
  tell(`${countText(runs)} runs on CPUs`);
  await readRuns();
  tell(`${countText(states)} thread states`);
  await breathe();
  await readStates(mergeRuns());
  tell(`${countText(slices)} slices and ${countText(samples)} counter samples`);
  await readTracks();
  tell("call stacks");
  await readStacks();
  for (const thread of model.threads) {
    if (!thread.states)
      continue;
    thread.run = thread.states.sumsBetween(-Infinity, Infinity)[RUNNING];
    if (thread.process)
      thread.process.run += thread.run;
  }
  for (const track of model.tracks)
    if (track.thread)
      track.thread.tracks.push(track);
}
