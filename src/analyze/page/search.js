// SPDX-License-Identifier: Apache-2.0
// The search: threads, processes, names of slices, counters. Enter goes to one; N and P to the next and previous
// occurrence of a slice's name.

const MOST_FOUND = 60;

const search = { entries: null, found: [], active: -1, name: 0 };

function searchEntries() {
  if (search.entries)
    return search.entries;
  const entries = [], slices = new Map();
  const add = (kind, text, go) => entries.push({ kind, text, lower: text.toLowerCase(), go });
  for (const thread of model.threads)
    if (hasRows(thread) && !thread.idle)
      add("thread", threadText(thread), () => goToThread(thread));
  for (const row of everyRow()) {
    if (row.process && row.kind === "group")
      add("process", row.label, () => goToRow(row));
    else if (row.kind === "samples")
      add("counter", row.parent && row.parent.process ? `${row.label}, ${row.parent.label}` : row.label, () => goToRow(row));
    else if (row.kind === "cpu")
      add("cpu", row.label, () => goToRow(row));
    if (row.kind === "slices")
      for (const lane of row.track.lanes)
        for (let i = 0; i < lane.n; i++)
          slices.set(lane.key[i], (slices.get(lane.key[i]) || 0) + 1);
  }
  for (const [name, n] of slices)
    add(`${countText(n)} slices`, model.strings[name] || "(no name)", () => goToName(name, 1, true));
  return search.entries = entries;
}

function find(text) {
  const wanted = text.trim().toLowerCase();
  search.found = [];
  search.active = -1;
  let more = 0;
  if (wanted)
    for (const entry of searchEntries())
      if (entry.lower.includes(wanted)) {
        if (search.found.length < MOST_FOUND)
          search.found.push(entry);
        else
          more++;
      }
  showFound(wanted, more);
}

function showFound(wanted, more) {
  const list = byId("found"), input = byId("search");
  list.replaceChildren(...search.found.map((entry, i) => {
    const item = document.createElement("li"), kind = document.createElement("span"), name = document.createElement("span");
    item.id = `found-${i}`;
    item.setAttribute("role", "option");
    kind.className = "kind";
    kind.textContent = entry.kind;
    name.textContent = entry.text;
    item.append(name, kind);
    item.onpointerdown = (event) => {
      event.preventDefault();
      takeFound(i);
    };
    return item;
  }));
  if (wanted && (more || !search.found.length)) {
    const item = document.createElement("li");
    item.className = "note";
    item.setAttribute("role", "option");
    item.setAttribute("aria-disabled", "true");
    item.textContent = more ? `and ${countText(more)} more: type more letters` : "nothing has this name";
    list.append(item);
  }
  list.hidden = !wanted;
  input.setAttribute("aria-expanded", String(!list.hidden));
  if (search.found.length)
    markFound(0);
  else
    input.removeAttribute("aria-activedescendant");
}

function markFound(i) {
  const items = byId("found").children;
  if (items[search.active])
    items[search.active].removeAttribute("aria-selected");
  search.active = (i + search.found.length) % search.found.length;
  items[search.active].setAttribute("aria-selected", "true");
  items[search.active].scrollIntoView({ block: "nearest" });
  byId("search").setAttribute("aria-activedescendant", items[search.active].id);
}

function hideFound() {
  byId("found").hidden = true;
  byId("search").setAttribute("aria-expanded", "false");
}

function takeFound(i) {
  const entry = search.found[i];
  if (!entry)
    return;
  hideFound();
  byId("rows").focus({ preventScroll: true });
  entry.go();
}

function onSearchKey(event) {
  const { key } = event, open = !byId("found").hidden && search.found.length > 0;
  if (open && key === "ArrowDown")
    markFound(search.active + 1);
  else if (open && key === "ArrowUp")
    markFound(search.active - 1);
  else if (open && key === "Enter")
    takeFound(search.active);
  else if (key === "Escape") {
    hideFound();
    byId("search").value = "";
    byId("rows").focus({ preventScroll: true });
  } else
    return;
  event.preventDefault();
  event.stopPropagation();
}

// ---- going to what was found ----

function goToRow(row) {
  unfoldTo(row);
  focusRow(row.index);
}

function goToThread(thread, time) {
  const row = rowOfThread(thread);
  if (!row)
    return;
  goToRow(row);
  view.highlight = { thread: thread.id };
  if (time !== undefined && thread.states) {
    const index = thread.states.at(time);
    if (index >= 0)
      return goTo({ row, lane: thread.states, index });
  }
  drawSoon();
}

// Selects the run of a CPU at a time.
function goToRun(cpu, time) {
  const row = [...everyRow()].find((candidate) => candidate.kind === "cpu" && candidate.cpu.id === cpu);
  const index = row ? row.cpu.runs.at(time) : -1;
  if (index >= 0)
    goTo({ row, lane: row.cpu.runs, index });
}

// Selects an interval and shows it.
function goTo(place) {
  goToRow(place.row);
  if (place.lane) {
    const start = place.lane.start[place.index], end = place.lane.end[place.index];
    if ((end - start) / span() * view.width < 4)
      showInterval(start, Math.max(end, start + 1));
    else
      reveal(start, end);
  }
  select(place);
}

// The next (1) or previous (-1) slice of a name from the selected one or the window's beginning on; all the way round.
function goToName(name, direction, fromWindow = false) {
  search.name = name;
  const { selected } = view;
  const from = !fromWindow && selected && selected.lane && selected.row.kind === "slices"
    ? selected.lane.start[selected.index] : view.from - (direction > 0 ? 1 : 0);
  let best = null, bestTime = direction * Infinity, edge = null, edgeTime = direction * Infinity;
  for (const row of everyRow()) {
    if (row.kind !== "slices")
      continue;
    for (const lane of row.track.lanes)
      for (let i = 0; i < lane.n; i++) {
        if (lane.key[i] !== name)
          continue;
        const t = lane.start[i];
        if ((t - from) * direction > 0 && (bestTime - t) * direction > 0) {
          best = { row, lane, index: i };
          bestTime = t;
        }
        if ((edgeTime - t) * direction > 0) {
          edge = { row, lane, index: i };
          edgeTime = t;
        }
      }
  }
  if (best || edge)
    goTo(best || edge);
  view.highlight = { name };
}
