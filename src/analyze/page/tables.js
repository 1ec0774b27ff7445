// SPDX-License-Identifier: Apache-2.0
// The tables below the timeline. They follow the range, or show the whole page if none is selected.

const FIRST_ROWS = 200; // of a table; a button shows the rest

// Columns: [name, how a value is shown, whether it is a number].
const asText = (v) => v, asCount = countText, asDuration = durationText, asShare = shareText;
const asTime = (v) => exactTimeText(v);

const TABS = [
  { id: "selection", name: "Selection", content: selectionContent },
  {
    id: "threads", name: "CPU time", by: 3, about: "How each thread spent the range.", rows: threadRows,
    columns: [["thread", asText], ["tid", asText, true], ["process", asText], ["running", asDuration, true],
      ["of a CPU", asShare, true], ["runnable", asDuration, true], ["blocked", asDuration, true], ["asleep", asDuration, true]],
  },
  {
    id: "wakeups", name: "Wakeup latency", by: 7, about: "How long runnable threads waited for a CPU. Only waits that began in the range count.",
    rows: waitRows,
    columns: [["thread", asText], ["tid", asText, true], ["process", asText], ["waits", asCount, true], ["mean", asDuration, true],
      ["p50", asDuration, true], ["p99", asDuration, true], ["longest", asDuration, true], ["at", asTime, true]],
  },
  {
    id: "slices", name: "Slices", by: 2, about: "Slices by name. Slices that extend beyond the range count only with the part inside it.", rows: sliceRows,
    columns: [["name", asText], ["slices", asCount, true], ["total", asDuration, true], ["mean", asDuration, true],
      ["longest", asDuration, true], ["at", asTime, true]],
  },
  {
    id: "counters", name: "Counters", by: 0, up: true, about: "Samples within the range.", rows: counterRows,
    columns: [["counter", asText], ["of", asText], ["unit", asText], ["samples", asCount, true], ["least", asValue, true],
      ["mean", asValue, true], ["most", asValue, true], ["last", asValue, true], ["change", asValue, true]],
  },
  { id: "flame", name: "Flame graph", content: flameContent, isShown: hasStacks },
  { id: "missing", name: "About this page", content: aboutContent },
];

const shownTabs = () => TABS.filter(({ isShown }) => !isShown || isShown());

// before: the table that was shown before the selection.
const tables = { tab: "threads", before: "threads", sort: {}, all: false, filling: 0, timer: 0 };

function asValue(v, unit) {
  return valueText(v, unit);
}

function tableRange() {
  return view.range || { from: view.least, to: view.most + 1 };
}

// ---- rows: {cells, go, unit} where go is what a click shows. They stop between threads and tracks now and then. ----

function* threadRows({ from, to }) {
  for (const thread of model.threads) {
    const { states } = thread;
    if (!states || thread.idle)
      continue;
    const sums = states.sumsBetween(from, to);
    if (!sums.some((time) => time > 0))
      continue;
    yield {
      cells: [thread.name + machineText(thread.machine), thread.tid, thread.process ? thread.process.name : "", sums[RUNNING],
        sums[RUNNING] / (Math.min(to, view.most) - from), sums[RUNNABLE], sums[BLOCKED], sums[ASLEEP]],
      go: () => goToThread(thread),
    };
  }
}

// The wait for a CPU that begins with a state, as its last state; UNKNOWN: none begins there, or it has no end. A preempted
// thread may be woken before it runs again: both states are one wait.
function endOfWait(states, i) {
  const runnable = (j) => j >= 0 && j < states.n && stateClassOf(states.key[j]) === RUNNABLE;
  if (!runnable(i) || (runnable(i - 1) && !states.open.has(i - 1)))
    return UNKNOWN;
  const last = runnable(i + 1) && !states.open.has(i) ? i + 1 : i;
  return states.open.has(last) ? UNKNOWN : last;
}

function* waitRows({ from, to }) {
  for (const thread of model.threads) {
    const { states } = thread;
    if (!states || thread.idle)
      continue;
    const waits = [];
    let sum = 0, longest = -1, most = -1;
    for (let i = lowerBound(states.start, from, 0, states.n), last = states.last(to); i < last; i++) {
      const end = endOfWait(states, i);
      if (end === UNKNOWN)
        continue;
      const length = states.end[end] - states.start[i];
      waits.push(length);
      sum += length;
      if (length > most) {
        longest = i;
        most = length;
      }
    }
    const n = waits.length;
    if (!n) {
      yield null;
      continue;
    }
    const sorted = Float64Array.from(waits).sort();
    yield {
      cells: [thread.name + machineText(thread.machine), thread.tid, thread.process ? thread.process.name : "", n, Math.floor(sum / n),
        sorted[Math.floor((n + 1) / 2) - 1], sorted[Math.floor((n * 99 + 99) / 100) - 1], sorted[n - 1], states.start[longest]],
      go: () => goTo({ row: rowOfThread(thread), lane: states, index: longest }),
    };
  }
}

function* sliceRows({ from, to }) {
  const byName = new Map();
  for (const row of everyRow()) {
    if (row.kind !== "slices")
      continue;
    for (const lane of row.track.lanes) {
      const { start, end, key } = lane;
      for (let i = lane.first(from), last = lane.last(to); i < last; i++) {
        if (start[i] < from && end[i] <= from)
          continue;
        const length = Math.min(end[i], to) - Math.max(start[i], from);
        let of = byName.get(key[i]);
        if (!of)
          byName.set(key[i], of = { n: 0, total: 0, longest: -1, at: null });
        of.n++;
        of.total += length;
        if (length > of.longest) {
          of.longest = length;
          of.at = { row, lane, index: i };
        }
      }
      yield null;
    }
  }
  for (const [name, of] of byName)
    yield {
      cells: [model.strings[name] || "(no name)", of.n, of.total, of.total / of.n, of.longest, of.at.lane.start[of.at.index]],
      go: () => goTo(of.at),
    };
}

function* counterRows({ from, to }) {
  for (const row of everyRow()) {
    if (row.kind !== "samples")
      continue;
    const { track } = row, { samples } = track;
    const first = lowerBound(samples.time, from, 0, samples.n), last = lowerBound(samples.time, to, 0, samples.n);
    if (first >= last) {
      yield null;
      continue;
    }
    const [least, most] = samples.extremes(first, last);
    let sum = 0;
    for (let i = first; i < last; i++)
      sum += samples.value[i];
    const { value } = samples;
    yield {
      cells: [trackLabel(track), track.process ? processText(track.process) : track.thread ? threadText(track.thread) : "",
        track.unit, last - first, least, sum / (last - first), most, value[last - 1], value[last - 1] - value[first]],
      unit: track.unit,
      go: () => goTo({ row, lane: null, index: last - 1 }),
    };
  }
}

// ---- filling ----

function fillTablesSoon() {
  const { range } = view;
  byId("clear-range").hidden = !range;
  byId("range-text").textContent = range
    ? `${timeText(range.from, range.to - range.from)} to ${timeText(range.to, range.to - range.from)}: ${durationText(range.to - range.from)}`
    : `whole ${model.facts.to < model.facts.wanted ? "page" : "trace"}`;
  if (!tables.timer)
    tables.timer = setTimeout(() => {
      tables.timer = 0;
      fillTable();
    }, 60);
}

// Reads rows for some milliseconds at a time. A newer call ends an older one.
async function fillTable() {
  const tab = TABS.find(({ id }) => id === tables.tab), number = ++tables.filling;
  const box = byId("table");
  if (tab.content)
    return box.replaceChildren(tab.content());
  const rows = [];
  let since = performance.now();
  for (const row of tab.rows(tableRange())) {
    if (row)
      rows.push(row);
    if (performance.now() - since > 12) {
      await breathe();
      if (number !== tables.filling)
        return undefined;
      since = performance.now();
    }
  }
  box.replaceChildren(tableOf(tab, rows));
  box.dataset.filled = `${tab.id} ${tableRange().from} ${tableRange().to}`;
  return undefined;
}

function tableOf(tab, rows) {
  const { by, up } = tables.sort[tab.id] || { by: tab.by, up: tab.up || false };
  rows.sort((a, b) => {
    const x = a.cells[by], y = b.cells[by];
    const order = typeof x === "number" ? x - y : String(x).localeCompare(String(y));
    return up ? order : -order;
  });
  const table = document.createElement("table"), caption = table.createCaption();
  caption.textContent = rows.length ? tab.about : `${tab.about} There are none.`;
  if (!rows.length)
    return table;
  const head = table.createTHead().insertRow();
  tab.columns.forEach(([name, , isNumber], i) => head.append(headOf(tab, name, isNumber, i, i === by, up)));
  const body = table.createTBody();
  const shown = tables.all ? rows : rows.slice(0, FIRST_ROWS);
  for (const row of shown)
    body.append(rowOf(tab, row));
  if (shown.length < rows.length)
    body.insertRow().append(restOf(tab, rows));
  return table;
}

function headOf(tab, name, isNumber, i, sorted, up) {
  const th = document.createElement("th"), button = document.createElement("button");
  th.scope = "col";
  button.type = "button";
  button.textContent = name;
  th.classList.toggle("number", Boolean(isNumber));
  if (sorted) {
    th.setAttribute("aria-sort", up ? "ascending" : "descending");
    button.dataset.order = up ? "▴" : "▾";
  }
  button.onclick = () => {
    tables.sort[tab.id] = { by: i, up: sorted ? !up : !isNumber };
    fillTable().then(() => byId("table").querySelectorAll("th button")[i].focus());
  };
  th.append(button);
  return th;
}

function rowOf(tab, row) {
  const tr = document.createElement("tr");
  row.cells.forEach((value, i) => {
    const [, show, isNumber] = tab.columns[i], text = String(show(value, row.unit));
    const cell = tr.insertCell();
    if (isNumber) {
      cell.className = "number";
      cell.dataset.value = value;
    }
    if (i > 0) {
      cell.textContent = text;
      return;
    }
    const button = document.createElement("button");
    button.type = "button";
    button.className = "go";
    button.textContent = text || "(no name)";
    button.onclick = row.go;
    cell.append(button);
  });
  return tr;
}

function restOf(tab, rows) {
  const cell = document.createElement("td"), button = document.createElement("button");
  cell.colSpan = tab.columns.length;
  button.type = "button";
  button.textContent = `Show all ${countText(rows.length)} rows`;
  button.onclick = () => {
    tables.all = true;
    fillTable();
  };
  cell.append(button);
  return cell;
}

// ---- selection, and what the page has not ----

function showSelection() {
  const { selected } = view;
  if (!selected)
    return tables.tab === "selection" ? showTab(tables.before) : tables.tab === "flame" ? fillTable() : undefined;
  const said = describe(selected);
  say([said.title, ...said.pairs.map(([name, value]) => `${name} ${value}`)].join(", "));
  return tables.tab === "flame" ? fillTable() : showTab("selection");
}

// The facts of what is selected, and beside them its call stacks.
function selectionContent() {
  const content = document.createElement("div"), box = document.createElement("div"), { selected } = view;
  content.className = "selection";
  content.append(box);
  if (!selected) {
    const text = document.createElement("p");
    text.textContent = "Nothing is selected. Click an interval, or choose a row with ↑ and ↓ and an interval with ← and →.";
    box.append(text);
    return content;
  }
  const said = describe(selected), title = document.createElement("h2"), list = document.createElement("dl");
  title.textContent = said.title;
  fillPairs(list, said.pairs);
  box.append(title, list);
  if (selected.lane) {
    const { lane, index } = selected;
    box.append(
      actionOf("Zoom to it (F)", () => showInterval(lane.start[index], lane.end[index])),
      actionOf("Make it the range (M)", () => setRange(lane.start[index], lane.end[index])));
  }
  for (const { text, go } of waysFrom(selected))
    box.append(actionOf(text, go));
  for (const [profile, site] of stacksOf(selected))
    content.append(stackElement(profile, site));
  return content;
}

function stacksOf({ row, lane, index }) {
  if (row.kind === "slices" && lane)
    return stacksOfSlice(row.track, lane.start[index]);
  return row.kind === "thread" && [BLOCKED, ASLEEP].includes(stateClassOf(lane.key[index]))
    ? stacksOfWait(row.thread, lane.start[index]) : [];
}

// A call stack of a slice or a wait, the innermost function first.
function stackElement(profile, site) {
  const box = document.createElement("div"), title = document.createElement("h2"), list = document.createElement("ol");
  const { edge } = stacks.profiles[profile], ofWait = isWaits(stacks.profiles[profile]);
  if (ofWait)
    title.textContent = edge === 1 ? "The code that waited" : "The code that ended the wait";
  else
    title.textContent = edge === 1 ? "Call stack at the start" : "Call stack at the end";
  list.className = "stack";
  for (const number of pathOf(site)) {
    const item = document.createElement("li"), { text, file } = stacks.functions[number];
    item.textContent = file && !text.startsWith(file) ? `${text} (${file})` : text;
    list.append(item);
  }
  box.append(title, list, actionOf("Show it in the flame graph", () => goToStack(profile, site)));
  return box;
}

function actionOf(text, run) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = text;
  button.onclick = run;
  return button;
}

// Where a person may want to go from an interval.
function waysFrom({ row, lane, index }) {
  if (row.kind === "cpu" && lane.key[index] !== UNKNOWN)
    return [{ text: "Show its thread", go: () => goToThread(model.threads[lane.key[index]], lane.start[index]) }];
  if (row.kind !== "thread" || lane.key[index] === UNKNOWN)
    return [];
  const more = model.stateMore[lane.offset + index], start = lane.start[index];
  if (stateClassOf(lane.key[index]) === RUNNING)
    return [{ text: "Show it on its CPU", go: () => goToRun(more - 1, start) }];
  const waker = model.states[lane.key[index] - 1] === "R" && model.threads[Math.floor(more / 4) - 1];
  return waker ? [{ text: `Show who woke it: ${threadText(waker)}`, go: () => goToThread(waker, start) }] : [];
}

// What a person should know who takes this page for the trace.
function notes() {
  const { facts } = model, list = [];
  if (facts.to < facts.wanted)
    list.push(`The page ends at ${timeText(facts.to)}: ${countText(facts.leftOut)} later rows are left out, because they would make the browser slow. `
      + `sonda report --html --from ${(facts.to / 1e9).toFixed(6)} makes a page from the rest.`);
  for (const [name, value, description] of facts.losses)
    list.push(`${model.strings[name]}: ${countText(value)}. ${model.strings[description] || ""}`);
  if (model.overlaps)
    list.push(`${countText(model.overlaps)} intervals overlap the previous one on the same row; the earlier one is cut.`);
  return list;
}

function aboutContent() {
  const { facts } = model, box = document.createElement("div");
  const add = (tag, text, to = box) => {
    const element = document.createElement(tag);
    element.textContent = text;
    to.append(element);
    return element;
  };
  box.className = "about";
  const missing = notes();
  add("h2", missing.length ? "What is missing" : "Nothing is known to be missing");
  const list = add("ul", "");
  missing.forEach((text) => add("li", text, list));
  add("h2", "What this page contains");
  add("p", `${countText(facts.runs)} runs on CPUs, ${countText(facts.states)} thread states, ${countText(facts.slices)} slices and `
    + `${countText(facts.samples)} counter samples. Times count from the start of the trace, ${facts.start} ns on its clock.`);
  add("h2", "What only the trace contains");
  add("p", `The ${countText(facts.events)} kernel events themselves, ${countText(facts.arguments)} argument sets of slices and tracks, `
    + `and ${countText(facts.flows)} flows. sonda sql FILE reads them.`);
  return box;
}

// ---- tabs ----

function showTab(id, focus = false) {
  if (tables.tab !== "selection")
    tables.before = tables.tab;
  tables.tab = id;
  tables.all = false;
  for (const tab of byId("tabs").children) {
    const is = tab.id === `tab-${id}`;
    tab.setAttribute("aria-selected", String(is));
    tab.tabIndex = is ? 0 : -1;
    if (is && focus)
      tab.focus();
    if (is)
      byId("table").setAttribute("aria-labelledby", tab.id);
  }
  return fillTable();
}

function buildTabs() {
  const bar = byId("tabs");
  for (const { id, name } of shownTabs()) {
    const tab = document.createElement("button");
    tab.type = "button";
    tab.id = `tab-${id}`;
    tab.textContent = id === "missing" && notes().length ? `${name} (${notes().length})` : name;
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", "table");
    tab.classList.toggle("warns", id === "missing" && notes().length > 0);
    tab.onclick = () => showTab(id);
    bar.append(tab);
  }
  bar.onkeydown = (event) => {
    const shown = shownTabs(), at = shown.findIndex(({ id }) => id === tables.tab);
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: shown.length - 1 }[event.key];
    if (to === undefined)
      return;
    event.preventDefault();
    showTab(shown[(to + shown.length) % shown.length].id, true);
  };
}
