// SPDX-License-Identifier: Apache-2.0
// The rows of the timeline: a tree, and the list of those that are not folded away, with their places.

const HEIGHT = { group: 26, cpu: 28, thread: 22, samples: 40, slice: 17 };
const MANY_ROWS = 400; // processes with more threads in all are folded at first
const MOST_DEPTHS = 24; // of slices in one row; the row tells if there are more

const tree = { top: [], list: [], height: 0, focus: 0 };

let rowNumber = 0;

function newRow(kind, label, more) {
  return { number: rowNumber++, kind, label, detail: "", level: 1, children: [], open: true, y: 0, height: HEIGHT[kind], ...more };
}

function trackLabel(track) {
  const name = track.name || (track.type === "thread_execution" ? "slices" : track.type.replaceAll("_", " "));
  return track.cpu >= 0 ? `${name}, ${cpuText(track.machine * 4096 + track.cpu)}` : `${name}${machineText(track.machine)}`;
}

function trackRows(track) {
  const rows = [];
  if (track.lanes.length) {
    const depths = Math.min(track.lanes.length, MOST_DEPTHS);
    rows.push(newRow("slices", trackLabel(track), {
      track, height: depths * HEIGHT.slice + 5,
      detail: `${countOf(track.slices, "slice")}${depths < track.lanes.length ? `, ${depths} of ${track.lanes.length} levels` : ""}`,
    }));
  }
  if (track.samples)
    rows.push(newRow("samples", trackLabel(track), { track, detail: track.unit, height: HEIGHT.samples }));
  return rows;
}

// Of a path its last part.
function shortName(name) {
  return name.startsWith("/") ? name.slice(name.lastIndexOf("/") + 1) || name : name;
}

function countOf(n, what) {
  return `${countText(n)} ${what}${n === 1 ? "" : "s"}`;
}

function threadText(thread) {
  return `${shortName(thread.name) || "(no name)"} ${thread.tid}${machineText(thread.machine)}`;
}

function processText(process) {
  return `${shortName(process.name) || "(no name)"} ${process.pid}${machineText(process.machine)}`;
}

function threadRow(thread) {
  const row = thread.row = newRow("thread", threadText(thread), { thread, detail: thread.run ? durationText(thread.run) : "" });
  row.children = thread.tracks.flatMap(trackRows);
  return row;
}

function byRun(a, b) {
  return b.run - a.run;
}

function hasRows(thread) {
  return (thread.states && !thread.idle) || thread.tracks.length > 0;
}

function processRow(process, tracks) {
  const threads = process.threads.filter(hasRows).sort(byRun);
  const own = tracks.flatMap(trackRows);
  if (!threads.length && !own.length)
    return null;
  if (threads.length === 1) {
    const row = threadRow(threads[0]);
    if (process.name && shortName(process.name) !== threads[0].name)
      row.label = `${row.label}, ${shortName(process.name)}`;
    row.path = process.name;
    row.process = process;
    row.children.push(...own);
    return row;
  }
  return newRow("group", processText(process), {
    process, path: `${process.name}, ${countOf(threads.length, "thread")}`, detail: process.run ? durationText(process.run) : "",
    children: [...threads.map(threadRow), ...own],
  });
}

function buildRows() {
  const loose = [], ofProcess = new Map(), ofCpu = [];
  for (const track of model.tracks) {
    if (track.thread)
      continue;
    if (track.process)
      ofProcess.set(track.process, [...(ofProcess.get(track.process) || []), track]);
    else if (track.cpu >= 0)
      ofCpu.push(track);
    else
      loose.push(track);
  }
  const cpus = model.cpus.map((cpu) => cpu.row = newRow("cpu", cpuText(cpu.id), {
    cpu, detail: `${countOf(cpu.runs.n, "run")}`,
  }));
  const processes = model.processes.slice().sort(byRun)
    .map((process) => processRow(process, ofProcess.get(process) || [])).filter(Boolean);
  const homeless = model.threads.filter((thread) => !thread.process && hasRows(thread)).sort(byRun).map(threadRow);
  const slices = loose.filter((track) => track.lanes.length), counters = loose.filter((track) => track.samples);
  const groups = [
    ["CPUs", cpus],
    ["Interrupts, frequencies and other CPU tracks", ofCpu.flatMap(trackRows)],
    ["Processes and threads", [...processes, ...homeless]],
    ["Tracks", slices.flatMap(trackRows)],
    ["Counters", counters.filter((track) => !track.lanes.length).flatMap(trackRows)],
  ];
  tree.top = groups.filter(([, children]) => children.length)
    .map(([label, children]) => newRow("group", label, { children, detail: countText(children.length) }));
  adopt(tree.top, null);
  foldMany(processes);
  place();
}

function adopt(rows, parent) {
  for (const row of rows) {
    row.parent = parent;
    adopt(row.children, row);
  }
}

// Of many processes only those with the most CPU time are unfolded.
function foldMany(processes) {
  let n = 0;
  for (const row of processes) {
    n += 1 + row.children.length;
    if (n > MANY_ROWS)
      row.open = false;
  }
}

function place() {
  const list = tree.list = [];
  let y = 0;
  const add = (row, level) => {
    row.level = level;
    row.y = y;
    row.index = list.length;
    y += row.height;
    list.push(row);
    if (row.open)
      row.children.forEach((child) => add(child, level + 1));
  };
  tree.top.forEach((row) => add(row, 1));
  tree.height = y;
  tree.focus = Math.min(tree.focus, list.length - 1);
}

function fold(row, open) {
  if (!row.children.length || row.open === open)
    return;
  const focused = tree.list[tree.focus];
  row.open = open;
  place();
  let keep = focused;
  while (keep && tree.list[keep.index] !== keep)
    keep = keep.parent;
  tree.focus = keep ? keep.index : row.index;
  resize();
  say(`${row.label} ${open ? "unfolded" : "folded"}`);
}

// Unfolds what hides the row.
function unfoldTo(row) {
  const path = [];
  const find = (candidates) => candidates.some((candidate) => {
    if (candidate === row || find(candidate.children)) {
      path.push(candidate);
      return true;
    }
    return false;
  });
  find(tree.top);
  for (const above of path)
    if (above !== row)
      above.open = true;
  place();
  resize();
}

// The first row whose lower edge is below y.
function rowIndexAt(y) {
  let low = 0, high = tree.list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (tree.list[middle].y + tree.list[middle].height <= y)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// All rows, folded ones too.
function* everyRow(rows = tree.top) {
  for (const row of rows) {
    yield row;
    yield* everyRow(row.children);
  }
}

function rowOfThread(thread) {
  for (const row of everyRow())
    if (row.thread === thread)
      return row;
  return null;
}

// The lane of a row at a place below its upper edge.
function laneAt(row, y) {
  if (row.kind === "cpu")
    return row.cpu.runs;
  if (row.kind === "thread")
    return row.thread.states;
  if (row.kind === "slices")
    return row.track.lanes[Math.min(Math.max(0, Math.floor((y - 3) / HEIGHT.slice)), row.track.lanes.length - 1)];
  return null;
}

// ---- labels: elements for the rows that can be seen ----

function placeLabels() {
  const rows = byId("rows"), labels = byId("labels");
  const top = rows.scrollTop, bottom = top + byId("canvas").clientHeight;
  const first = rowIndexAt(top);
  let n = 0;
  for (let i = first; i < tree.list.length && tree.list[i].y < bottom; i++, n++) {
    const label = labels.children[n] || labels.appendChild(newLabel());
    fillLabel(label, tree.list[i], i, tree.list[i].y - top);
  }
  while (labels.children.length > n)
    labels.lastChild.remove();
  rows.setAttribute("aria-activedescendant", tree.list[tree.focus] ? `row-${tree.list[tree.focus].number}` : "");
}

function newLabel() {
  const label = document.createElement("div");
  label.className = "label";
  label.setAttribute("role", "treeitem");
  const fold = document.createElement("span"), name = document.createElement("span"), detail = document.createElement("span");
  fold.className = "fold";
  name.className = "name";
  detail.className = "detail";
  label.append(fold, name, detail);
  return label;
}

function fillLabel(label, row, index, y) {
  const [foldMark, name, detail] = label.children;
  label.style.transform = `translateY(${y}px)`;
  label.style.height = `${row.height}px`;
  label.classList.toggle("focus", index === tree.focus);
  if (label.row === row && label.isOpen === row.open)
    return;
  label.row = row;
  label.isOpen = row.open;
  label.id = `row-${row.number}`;
  label.dataset.kind = row.kind;
  label.style.setProperty("--level", row.level - 1);
  label.setAttribute("aria-level", row.level);
  label.setAttribute("aria-label", row.detail ? `${row.label}, ${row.detail}` : row.label);
  if (row.children.length)
    label.setAttribute("aria-expanded", String(row.open));
  else
    label.removeAttribute("aria-expanded");
  foldMark.textContent = row.children.length ? (row.open ? "▾" : "▸") : "";
  name.textContent = row.label;
  name.title = row.path || row.label;
  detail.textContent = row.detail;
}
