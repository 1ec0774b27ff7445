// SPDX-License-Identifier: Apache-2.0
// Wakeups of what is selected, as arrows from the waker to the woken thread: the one that began the selected interval, and
// those that the selected thread made while it ran.

const MOST_ARROWS = 100; // of one selection

// The wakeup that ended in state i of a thread, or that began it: {waker, woken, state, at, irq}, or null.
function wakeupOf(thread, i) {
  const lane = thread.states;
  if (!lane || i < 0 || i >= lane.n || lane.key[i] === UNKNOWN)
    return null;
  const more = model.stateMore[lane.offset + i];
  const waker = model.states[lane.key[i] - 1] === "R" && more >= 4 ? model.threads[Math.floor(more / 4) - 1] : null;
  return waker ? { waker, woken: thread, state: i, at: lane.start[i], irq: more % 4 === 2 } : null;
}

// Of the thread's last look-up: steps through the intervals of a thread ask again and again.
let wokenCache = { thread: null, list: [] };

// All wakeups that a thread made, in time order.
function wakeupsBy(thread) {
  if (wokenCache.thread === thread)
    return wokenCache.list;
  const list = [];
  for (const woken of model.threads) {
    const lane = woken.states;
    for (let i = 0, at = lane ? lane.offset : 0; lane && i < lane.n; i++, at++)
      if (Math.floor(model.stateMore[at] / 4) === thread.id + 1) {
        const wakeup = wakeupOf(woken, i);
        if (wakeup)
          list.push(wakeup);
      }
  }
  list.sort((a, b) => a.at - b.at);
  wokenCache = { thread, list };
  return list;
}

// The thread and the state that an interval of a CPU or thread is about, or null.
function stateOf({ row, lane, index }) {
  if (row.kind === "thread")
    return { thread: row.thread, index };
  if (row.kind !== "cpu" || runClassOfKey(lane.key[index]) === 0)
    return null;
  const thread = model.threads[lane.key[index]];
  const i = thread.states ? thread.states.at(lane.start[index]) : -1;
  return i < 0 ? null : { thread, index: i };
}

// The wakeups that are drawn for a selection: the one to it first.
function arrowsOf(selected) {
  const place = selected && selected.lane ? stateOf(selected) : null;
  if (!place)
    return [];
  const { thread, index } = place, lane = thread.states;
  const kind = lane.key[index] === UNKNOWN ? 0 : stateClassOf(lane.key[index]);
  // A wakeup ends what the thread waited in, and begins the wait for a CPU before a run.
  const to = wakeupOf(thread, kind === RUNNING ? index - 1 : kind === RUNNABLE ? index : index + 1);
  const list = to ? [to] : [];
  if (kind !== RUNNING)
    return list;
  const made = wakeupsBy(thread), end = lane.end[index];
  let i = made.findIndex((wakeup) => wakeup.at >= lane.start[index]);
  for (; i >= 0 && i < made.length && made[i].at <= end && list.length < MOST_ARROWS; i++)
    list.push(made[i]);
  return list;
}

// ---- drawing ----

// The row, or what it is folded into.
function shownRow(row) {
  while (row && tree.list[row.index] !== row)
    row = row.parent;
  return row || null;
}

// The idle thread is one of all CPUs: it has no row, and which CPU it was is not known.
function cpuRowAt(thread, t) {
  if (thread.idle)
    return null;
  for (const cpu of model.cpus) {
    const i = cpu.runs.at(t);
    if (i >= 0 && cpu.runs.key[i] === thread.id)
      return cpu.row;
  }
  return null;
}

// Where an arrow begins and ends, as [row, time] twice: rows of CPUs if one of them is selected.
function endsOf({ waker, woken, state, at }, onCpus) {
  const lane = woken.states, ran = lane.end[state];
  const from = onCpus && cpuRowAt(waker, at), to = onCpus && cpuRowAt(woken, ran);
  return [from || waker.row, at, to || woken.row, to ? ran : at];
}

function drawArrow(context, x0, y0, x1, y1, dashed) {
  const angle = Math.atan2(y1 - y0, x1 - x0), head = 7;
  for (const [colour, width] of [[colours.css.paper, 4.5], [colours.css.accent, 1.75]]) {
    context.strokeStyle = context.fillStyle = colour;
    context.lineWidth = width;
    context.setLineDash(dashed ? [5, 3] : []);
    context.beginPath();
    context.moveTo(x0, y0);
    context.lineTo(x1, y1);
    context.stroke();
    context.setLineDash([]);
    context.beginPath();
    context.moveTo(x1, y1);
    for (const side of [-0.45, 0.45])
      context.lineTo(x1 - head * Math.cos(angle + side), y1 - head * Math.sin(angle + side));
    context.closePath();
    context.fill();
  }
  context.beginPath();
  context.arc(x0, y0, 2.5, 0, 7);
  context.fill();
  frame.items++;
}

function drawArrows(context, top) {
  const { selected } = view;
  frame.arrows = 0;
  for (const wakeup of arrowsOf(selected)) {
    const [fromRow, from, toRow, to] = endsOf(wakeup, selected.row.kind === "cpu");
    const a = shownRow(fromRow), b = shownRow(toRow);
    if (!a || !b || a === b || Math.max(from, to) < view.from || Math.min(from, to) > view.to)
      continue;
    const y0 = a.y - top + Math.min(a.height, HEIGHT.cpu) / 2, down = b.y > a.y;
    drawArrow(context, xOf(from), y0, xOf(to), b.y - top + (down ? 3 : Math.min(b.height, HEIGHT.cpu) - 3), wakeup.irq);
    frame.arrows++;
  }
}
