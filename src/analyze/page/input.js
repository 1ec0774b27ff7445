// SPDX-License-Identifier: Apache-2.0
// Mouse and keys.

const HELP = [
  ["W, S", "zoom in and out; also + and −, or the wheel over the timeline"],
  ["A, D", "move earlier and later; also drag, or the wheel with Shift"],
  ["0", "show the whole trace"],
  ["↑ ↓", "choose a row; also Home, End, Page Up, Page Down, and the wheel over the names"],
  ["← →", "choose the previous or next interval; fold and unfold a group"],
  ["Enter", "zoom to the interval; fold or unfold a group"],
  ["F", "zoom to the selected interval or the range"],
  ["M", "make the selected interval the range"],
  ["Shift ← →", "make the range longer, interval by interval; also drag with Shift, or on the ruler"],
  ["[ ]", "begin and end the range at the selected interval"],
  ["/", "search threads, processes, slices and counters"],
  ["N, P", "next and previous slice with the name searched for"],
  ["Flame graph", "← → ↑ ↓ move between functions, Enter or a click zooms in, Backspace out, P or the right button makes a pivot"],
  ["T", "light or dark"],
  ["Escape", "close; clear the selection, then the range"],
  ["?", "this list"],
];

const ZOOM_STEP = 1.5, PAN_STEP = 0.2;

// ---- rows and intervals by keys ----

function focusRow(index) {
  if (!tree.list.length)
    return;
  tree.focus = Math.min(Math.max(index, 0), tree.list.length - 1);
  const rows = byId("rows"), row = tree.list[tree.focus];
  if (row.y < rows.scrollTop)
    rows.scrollTop = row.y;
  else if (row.y + row.height > rows.scrollTop + rows.clientHeight)
    rows.scrollTop = row.y + row.height - rows.clientHeight;
  drawSoon();
}

function focusedRow() {
  return tree.list[tree.focus];
}

// The lane that arrows move in: that of the selected interval, else the first of the row.
function focusedLane() {
  const row = focusedRow(), { selected } = view;
  return selected && selected.row === row && selected.lane ? selected.lane : laneAt(row, 0);
}

// A step to the next (1) or previous (-1) interval. Returns the place, or null.
function step(direction) {
  const row = focusedRow(), { selected } = view;
  const lane = focusedLane(), n = lane ? lane.n : row.kind === "samples" ? row.track.samples.n : 0;
  if (!n)
    return null;
  let index;
  if (selected && selected.row === row && selected.index >= 0)
    index = selected.index + direction;
  else if (lane)
    index = direction > 0 ? lane.first(view.from) : lane.last(view.to) - 1;
  else
    index = lowerBound(row.track.samples.time, direction > 0 ? view.from : view.to, 0, n) - (direction > 0 ? 0 : 1);
  // Idle time is no interval to stop at.
  while (lane && row.kind === "cpu" && lane.key[index] !== undefined && runClassOfKey(lane.key[index]) === 0)
    index += direction;
  index = Math.min(Math.max(index, 0), n - 1);
  const place = { row, lane, index };
  const start = lane ? lane.start[index] : row.track.samples.time[index];
  reveal(start, lane ? lane.end[index] : start);
  select(place);
  return place;
}

function runClassOfKey(key) {
  return key === UNKNOWN ? 0 : runClass(key);
}

function stepSideways(direction, shift) {
  const row = focusedRow();
  if (row.kind === "group")
    return fold(row, direction > 0);
  const before = view.selected;
  const place = step(direction);
  if (!shift || !place || !place.lane)
    return undefined;
  const { lane, index } = place;
  const from = before && before.lane === lane ? Math.min(lane.start[before.index], lane.start[index]) : lane.start[index];
  const to = before && before.lane === lane ? Math.max(lane.end[before.index], lane.end[index]) : lane.end[index];
  const { range } = view;
  return setRange(range ? Math.min(range.from, from) : from, range ? Math.max(range.to, to) : to);
}

function enter() {
  const row = focusedRow(), { selected } = view;
  if (row.kind === "group" || (!selected && row.children.length))
    return fold(row, !row.open);
  if (selected && selected.row === row)
    return fit();
  return step(1);
}

function fit() {
  const { selected, range } = view;
  if (selected && selected.lane)
    showInterval(selected.lane.start[selected.index], selected.lane.end[selected.index]);
  else if (range)
    showWindow(range.from, range.to);
}

function markSelected(edge) {
  const { selected, range } = view;
  if (!selected || !selected.lane)
    return;
  const start = selected.lane.start[selected.index], end = selected.lane.end[selected.index];
  if (edge === "[")
    setRange(start, range && range.to > start ? range.to : view.most);
  else if (edge === "]")
    setRange(range && range.from < end ? range.from : view.least, end);
  else
    setRange(start, end);
}

function leave() {
  if (!byId("found").hidden)
    hideFound();
  else if (view.selected || view.highlight)
    select(null);
  else
    clearRange();
}

function pageRows(direction) {
  const rows = byId("rows"), row = focusedRow();
  focusRow(Math.min(rowIndexAt(Math.max(row.y + direction * rows.clientHeight * 0.9, 0)), tree.list.length - 1));
}

const KEYS = {
  w: () => zoom(1 / ZOOM_STEP), s: () => zoom(ZOOM_STEP), "+": () => zoom(1 / ZOOM_STEP), "=": () => zoom(1 / ZOOM_STEP),
  "-": () => zoom(ZOOM_STEP), a: () => pan(-span() * PAN_STEP), d: () => pan(span() * PAN_STEP), 0: showWhole, f: fit,
  m: () => markSelected("both"), "[": () => markSelected("["), "]": () => markSelected("]"), t: switchTheme,
  "/": () => byId("search").focus(), "?": () => byId("help").showModal(), Escape: leave,
  n: () => search.name && goToName(search.name, 1), p: () => search.name && goToName(search.name, -1),
};

const ROW_KEYS = {
  ArrowUp: () => focusRow(tree.focus - 1), ArrowDown: () => focusRow(tree.focus + 1), Home: () => focusRow(0),
  End: () => focusRow(tree.list.length - 1), PageUp: () => pageRows(-1), PageDown: () => pageRows(1), Enter: enter,
  ArrowLeft: (shift) => stepSideways(-1, shift), ArrowRight: (shift) => stepSideways(1, shift),
};

function onKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || byId("help").open || event.target === byId("search"))
    return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const inRows = event.target === byId("rows") || event.target === document.body;
  const run = (inRows && ROW_KEYS[key]) || KEYS[key];
  if (!run)
    return;
  event.preventDefault();
  run(event.shiftKey);
}

// ---- the mouse on the timeline ----

function placeAt(event) {
  const box = byId("canvas").getBoundingClientRect();
  const x = event.clientX - box.left, y = event.clientY - box.top + byId("rows").scrollTop;
  const row = tree.list[rowIndexAt(y)];
  if (!row || x < 0)
    return null;
  const t = timeAt(x), lane = laneAt(row, y - row.y);
  let index = -1;
  if (lane)
    index = intervalAt(lane, t, x);
  else if (row.kind === "samples")
    index = row.track.samples.at(t);
  return { x, row, lane, index };
}

// The interval under the pointer, or the longest within two pixels of it.
function intervalAt(lane, t, x) {
  const index = lane.at(t);
  if (index >= 0 && (lane.end[index] - lane.start[index]) / span() * view.width >= 2)
    return index;
  const longest = lane.longestOf(lane.first(timeAt(x - 1.5)), lane.last(timeAt(x + 1.5)));
  return longest >= 0 ? longest : index;
}

// Follows the pointer until it is released. move(dx, dy, event); click is called if it stayed where it was.
function drag(event, move, click) {
  const target = event.currentTarget, { clientX, clientY } = event;
  let moved = false;
  target.setPointerCapture(event.pointerId);
  const onMove = (e) => {
    if (!moved && Math.hypot(e.clientX - clientX, e.clientY - clientY) < 4)
      return;
    moved = true;
    move(e.clientX - clientX, e.clientY - clientY, e);
  };
  const onEnd = (e) => {
    target.removeEventListener("pointermove", onMove);
    target.removeEventListener("pointerup", onEnd);
    target.removeEventListener("pointercancel", onEnd);
    document.body.classList.remove("dragging");
    if (!moved && click && e.type === "pointerup")
      click(e);
  };
  document.body.classList.add("dragging");
  target.addEventListener("pointermove", onMove);
  target.addEventListener("pointerup", onEnd);
  target.addEventListener("pointercancel", onEnd);
}

function dragRange(event, click) {
  const left = event.currentTarget.getBoundingClientRect().left, { range } = view;
  let from = timeAt(event.clientX - left);
  // Near an edge of the range it is this edge that moves.
  if (range && Math.abs(event.clientX - left - xOf(range.from)) < 6)
    from = range.to;
  else if (range && Math.abs(event.clientX - left - xOf(range.to)) < 6)
    from = range.from;
  drag(event, (dx, dy, e) => setRange(from, timeAt(e.clientX - left)), click);
}

function onCanvasDown(event) {
  if (event.button !== 0)
    return;
  byId("rows").focus({ preventScroll: true });
  if (event.shiftKey)
    return dragRange(event);
  const { from, to } = view, { scrollTop } = byId("rows");
  return drag(event, (dx, dy) => {
    const ns = dx / view.width * (to - from);
    showWindow(from - ns, to - ns);
    byId("rows").scrollTop = scrollTop - dy;
  }, (e) => {
    const place = placeAt(e);
    if (!place)
      return;
    focusRow(place.row.index);
    if (place.row.kind === "group")
      fold(place.row, !place.row.open);
    else
      select(place.index >= 0 ? place : null);
  });
}

function onWheel(event) {
  event.preventDefault();
  const scale = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
  const along = (event.shiftKey && !event.deltaX ? event.deltaY : event.deltaX) * scale;
  const across = event.shiftKey ? 0 : event.deltaY * scale;
  if (along)
    pan(along / view.width * span());
  if (across)
    zoom(Math.exp(Math.min(Math.max(across, -400), 400) * 0.0022), event.clientX - event.currentTarget.getBoundingClientRect().left);
}

function onOverviewDown(event) {
  if (event.button !== 0)
    return;
  const box = event.currentTarget.getBoundingClientRect(), whole = view.most - view.least;
  const at = (e) => view.least + (e.clientX - box.left) / box.width * whole;
  const grab = at(event), half = span() / 2;
  const offset = grab >= view.from && grab <= view.to ? (view.from + view.to) / 2 - grab : 0;
  const move = (e) => showWindow(at(e) + offset - half, at(e) + offset + half);
  drag(event, (dx, dy, e) => move(e), move);
}

function hoverAt(event) {
  view.hover = event ? placeAt(event) : null;
  showTip(event ? event.clientX : 0, event ? event.clientY : 0);
  drawSoon();
}

// ---- the splitter ----

function setPanelShare(share) {
  share = Math.min(Math.max(share, 10), 80);
  document.documentElement.style.setProperty("--panel", `${share}vh`);
  byId("splitter").setAttribute("aria-valuenow", String(Math.round(share)));
}

function listen() {
  const canvas = byId("canvas"), rows = byId("rows"), splitter = byId("splitter");
  document.addEventListener("keydown", onKey);
  canvas.addEventListener("pointerdown", onCanvasDown);
  canvas.addEventListener("pointermove", (event) => event.buttons ? hoverAt(null) : hoverAt(event));
  canvas.addEventListener("pointerleave", () => hoverAt(null));
  canvas.addEventListener("dblclick", fit);
  canvas.addEventListener("wheel", onWheel, { passive: false });
  byId("ruler").addEventListener("wheel", onWheel, { passive: false });
  byId("ruler").addEventListener("pointerdown", (event) => event.button === 0 && dragRange(event, clearRange));
  byId("overview").addEventListener("pointerdown", onOverviewDown);
  rows.addEventListener("scroll", () => drawSoon());
  byId("labels").addEventListener("click", (event) => {
    const label = event.target.closest(".label");
    if (!label)
      return;
    focusRow(label.row.index);
    if (label.row.children.length)
      fold(label.row, !label.row.open);
  });
  const input = byId("search");
  input.addEventListener("input", () => find(input.value));
  input.addEventListener("focus", () => input.value && find(input.value));
  input.addEventListener("blur", hideFound);
  input.addEventListener("keydown", onSearchKey);
  byId("whole").onclick = showWhole;
  byId("theme").onclick = switchTheme;
  byId("help-button").onclick = () => byId("help").showModal();
  byId("clear-range").onclick = clearRange;
  splitter.addEventListener("pointerdown", (event) =>
    drag(event, (dx, dy, e) => setPanelShare((innerHeight - e.clientY) / innerHeight * 100)));
  splitter.addEventListener("keydown", (event) => {
    const by = { ArrowUp: 4, ArrowDown: -4 }[event.key];
    if (!by)
      return;
    event.preventDefault();
    event.stopPropagation();
    setPanelShare(Number(splitter.getAttribute("aria-valuenow")) + by);
  });
  darkScheme.addEventListener("change", () => {
    readColours();
    drawSoon(true);
  });
  new ResizeObserver(resize).observe(rows);
}
