// SPDX-License-Identifier: Apache-2.0
// The page of sonda diff --html: the rows of the comparison, and a flame graph whose widths are times and whose colours are
// changes. All times are those of the unit of the comparison, so that the lengths of the recordings do not matter.

const byId = (id) => document.getElementById(id);
const ROW = 20, LEAST = 0.5, TEXT = 30; // heights and widths in pixels

const rows = JSON.parse(byId("rows").textContent);
const stacks = JSON.parse(byId("stacks").textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");

// ---- the head ----

function fillHead() {
  const side = (of) => {
    const seconds = of.reduce((sum, { seconds: s }) => sum + s, 0) / of.length;
    return `${of.map(({ file }) => file).join(", ")}: ${durationText(seconds * 1e9)}${of.length > 1 ? " each" : ""}`;
  };
  const per = `cost per ${rows.per}`;
  for (const [name, text] of [["A", side(rows.a)], ["B", side(rows.b)], ["compared", `${per}; test: ${rows.design}`]]) {
    const term = document.createElement("dt"), value = document.createElement("dd");
    term.textContent = name;
    value.textContent = text;
    byId("sides").append(term, value);
  }
  byId("notes").append(...rows.notes.map((note) => {
    const item = document.createElement("li");
    item.textContent = note;
    return item;
  }));
}

// ---- the table ----

const percent = (v) => `${v >= 0 ? "+" : ""}${v.toFixed(1)} %`;
const valueOf = (v, unit) => v === null ? "" : unit === "ns" ? durationText(v) : valueText(Math.round(v * 1000) / 1000, unit);

function changeText(c) {
  if (c.change_pct === null)
    return c.b > 0 ? "new" : "";
  return c.b === 0 && c.a > 0 ? "gone" : percent(c.change_pct);
}

// [title, text, value to sort by; null: as text]
const COLUMNS = [
  ["change", changeText, (c) => c.change_pct === null ? (c.b > 0 ? Infinity : -Infinity) : c.change_pct],
  ["interval", (c) => c.change_low_pct === null ? "-" : `${percent(c.change_low_pct)} to ${percent(c.change_high_pct)}`, null],
  ["A", (c) => valueOf(c.a, c.unit), (c) => c.a ?? -1], ["B", (c) => valueOf(c.b, c.unit), (c) => c.b ?? -1],
  ["difference", (c) => c.a === null || c.b === null ? "" : `${c.b >= c.a ? "+" : "-"}${valueOf(Math.abs(c.b - c.a), c.unit)}`,
    (c) => Math.abs((c.b ?? 0) - (c.a ?? 0))],
  ["metric", (c) => c.measure === "total" ? c.metric : `${c.metric} ${c.measure}`, null], ["by", (c) => c.level, null],
  ["program", (c) => c.program || "", null], ["what", (c) => c.what || c.thread || "", null],
];
const NUMBERS = 5; // the first columns

const table = { sort: -1, descending: true, chosen: null, shown: [] };

function rowPasses(c) {
  const wanted = byId("row-search").value.trim().toLowerCase();
  return (c.finding || byId("all-rows").checked)
    && (!wanted || COLUMNS.slice(NUMBERS).some(([, text]) => text(c).toLowerCase().includes(wanted)));
}

function sortRows(list) {
  const column = COLUMNS[table.sort];
  if (!column)
    return list; // the largest effect first
  const [, text, number] = column, sign = table.descending ? -1 : 1;
  return list.sort((x, y) => sign * (number ? number(x) - number(y) || 0 : text(x).localeCompare(text(y))));
}

// A row with a function finds it in the graph.
function chooseRow(c) {
  const name = /(?:^| in )([^ ]+) \(/.exec(c.what || "");
  table.chosen = c;
  fillTable();
  if (!name)
    return;
  byId("profile").value = c.metric === "cpu" || !flame.profiles.waits ? "cpu" : "waits";
  byId("search").value = `^${name[1].replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&")}$`;
  showProfile();
}

function fillTable() {
  const head = document.createElement("thead"), body = document.createElement("tbody"), titles = head.insertRow();
  COLUMNS.forEach(([title], i) => {
    const cell = document.createElement("th"), button = document.createElement("button");
    button.type = "button";
    button.textContent = table.sort === i ? `${title} ${table.descending ? "▼" : "▲"}` : title;
    button.onclick = () => {
      table.descending = table.sort === i ? !table.descending : true;
      table.sort = i;
      fillTable();
    };
    cell.scope = "col";
    cell.setAttribute("aria-sort", table.sort !== i ? "none" : table.descending ? "descending" : "ascending");
    cell.append(button);
    titles.append(cell);
  });
  table.shown = sortRows(rows.changes.filter(rowPasses));
  for (const c of table.shown) {
    const row = body.insertRow();
    row.className = c === table.chosen ? "chosen" : "";
    COLUMNS.forEach(([, text], i) => {
      const cell = row.insertCell();
      cell.textContent = text(c);
      cell.className = i < NUMBERS ? "number" : "";
    });
    row.onclick = () => chooseRow(c);
  }
  byId("table").replaceChildren(head, body);
  byId("row-count").textContent = `${table.shown.length} of ${rows.changes.length} rows`;
}

// ---- the trees ----

// Columns of nodes: node 0 is the root, and a parent has a lower number than its children.
function treeOf(list) {
  const n = list.length, tree = { n, parent: [], name: [], a: new Float64Array(n), b: new Float64Array(n), children: [] };
  list.forEach(([parent, name, a, b], i) => {
    tree.parent.push(i ? parent : -1);
    tree.name.push(i ? name : -1);
    tree.a[i] = a;
    tree.b[i] = b;
    tree.children.push([]);
    if (i)
      tree.children[parent].push(i);
  });
  tree.selfA = tree.a.slice();
  tree.selfB = tree.b.slice();
  for (let i = n - 1; i > 0; i--) {
    tree.a[tree.parent[i]] += tree.a[i];
    tree.b[tree.parent[i]] += tree.b[i];
  }
  return tree;
}

const flame = { profiles: {}, tree: null, zoomed: 0, boxes: [], lines: [], focus: null, pattern: null };

const textOf = (node) => node <= 0 ? "all" : stacks.names[flame.tree.name[node]][0];

// The width of a node; in "max" the children of a node may be wider than it, and are made to fit.
function weightOf(node) {
  const { a, b } = flame.tree, width = byId("width").value;
  return width === "a" ? a[node] : width === "b" ? b[node] : Math.max(a[node], b[node]);
}

function placeChildren(node, x, width, line) {
  const children = flame.tree.children[node].filter((child) => weightOf(child) > 0).sort((p, q) => weightOf(q) - weightOf(p));
  const sum = Math.max(weightOf(node), children.reduce((total, child) => total + weightOf(child), 0));
  let at = x;
  for (const child of children) {
    const part = width * weightOf(child) / sum;
    if (part < LEAST)
      break;
    flame.boxes.push({ node: child, x: at, width: part, line });
    placeChildren(child, at, part, line + 1);
    at += part;
  }
}

function layOut() {
  const { tree } = flame, width = Math.max(byId("canvas").clientWidth, 100), path = [];
  flame.boxes = [];
  flame.lines = [];
  flame.focus = null;
  if (tree) {
    for (let node = flame.zoomed; node >= 0; node = tree.parent[node])
      path.unshift(node);
    path.forEach((node, line) => flame.boxes.push({ node, x: 0, width, line }));
    if (weightOf(flame.zoomed) > 0)
      placeChildren(flame.zoomed, 0, width, path.length);
  }
  for (const box of flame.boxes)
    (flame.lines[box.line] ||= []).push(box);
  byId("caption").textContent = caption();
  draw();
}

const matches = (node) => node > 0 && flame.pattern && flame.pattern.test(textOf(node));

// The sums of what matches; a match below another counts once.
function matched() {
  const { tree } = flame, inside = new Uint8Array(tree.n);
  let a = 0, b = 0;
  for (let i = 1; i < tree.n; i++) {
    inside[i] = inside[tree.parent[i]] || matches(i) ? 1 : 0;
    if (inside[i] && !inside[tree.parent[i]]) {
      a += tree.a[i];
      b += tree.b[i];
    }
  }
  return { a, b };
}

const sidesText = (a, b) => `A ${durationText(a) || "0 ns"}, B ${durationText(b) || "0 ns"}, ${a > 0 ? b > 0 ? percent((b / a - 1) * 100) : "gone" : "new"}`;

function caption() {
  const { tree } = flame;
  if (!tree)
    return "Neither side has call stacks of this kind.";
  let text = `${sidesText(tree.a[0], tree.b[0])} for each ${rows.per}.`;
  if (flame.pattern) {
    const { a, b } = matched();
    text += a || b ? ` Matches: ${sidesText(a, b)}.` : " Nothing matches.";
  }
  return text;
}

// ---- drawing ----

// From blue (gone in B) to red (new in B); half as much again is half of the way.
function colourOf(node) {
  const { a, b } = flame.tree, change = (b[node] - a[node]) / (Math.max(a[node], b[node]) || 1);
  const strength = Math.min(1, Math.abs(change) * 1.5), base = dark.matches ? 0.38 : 0.93, end = dark.matches ? 0.5 : 0.7;
  return `oklch(${base + (end - base) * strength} ${(0.16 * strength).toFixed(3)} ${change > 0 ? 30 : 250})`;
}

function draw() {
  const canvas = byId("canvas"), ratio = devicePixelRatio || 1, style = getComputedStyle(document.documentElement);
  const width = Math.max(canvas.clientWidth, 100), height = Math.max(flame.lines.length, 1) * ROW;
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const c = canvas.getContext("2d"), ink = style.getPropertyValue("--ink").trim(), accent = style.getPropertyValue("--accent").trim();
  c.scale(ratio, ratio);
  c.font = "12px system-ui, sans-serif";
  c.textBaseline = "middle";
  for (const box of flame.boxes) {
    const y = box.line * ROW, w = Math.max(box.width - 0.5, LEAST), found = matches(box.node);
    c.globalAlpha = flame.pattern && !found ? 0.4 : 1;
    c.fillStyle = colourOf(box.node);
    c.fillRect(box.x, y, w, ROW - 1);
    c.lineWidth = 2;
    if (found || box === flame.focus) {
      c.globalAlpha = 1;
      c.strokeStyle = box === flame.focus ? ink : accent;
      c.strokeRect(box.x + 1, y + 1, Math.max(w - 2, 1), ROW - 3);
    }
    if (w < TEXT)
      continue;
    c.save();
    c.beginPath();
    c.rect(box.x + 4, y, w - 8, ROW);
    c.clip();
    c.fillStyle = ink;
    c.fillText(textOf(box.node), box.x + 4, y + ROW / 2);
    c.restore();
  }
  c.globalAlpha = 1;
}

// ---- one box ----

function describe(node) {
  const { tree } = flame, whole = Math.max(tree.a[0], tree.b[0]) || 1, file = node > 0 ? stacks.names[tree.name[node]][1] : "";
  return [
    `${textOf(node)}${file ? ` (${file})` : ""}`, sidesText(tree.a[node], tree.b[node]),
    `share of the total: A ${shareText(tree.a[node] / (tree.a[0] || 1))}, B ${shareText(tree.b[node] / (tree.b[0] || 1))}; `
      + `change: ${tree.b[node] >= tree.a[node] ? "+" : "-"}${shareText(Math.abs(tree.b[node] - tree.a[node]) / whole)} of it`,
    `itself: ${sidesText(tree.selfA[node], tree.selfB[node])}`,
  ];
}

function boxAt(event) {
  const bounds = byId("canvas").getBoundingClientRect(), x = event.clientX - bounds.left;
  const line = flame.lines[Math.floor((event.clientY - bounds.top) / ROW)] || [];
  return line.find((box) => x >= box.x && x < box.x + box.width) || null;
}

function showTip(event) {
  const box = event && boxAt(event), tip = byId("tip");
  tip.hidden = !box;
  if (!box)
    return;
  tip.textContent = describe(box.node).join("\n");
  tip.style.left = `${Math.max(0, Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 4))}px`;
  tip.style.top = `${event.clientY + 16 + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 8 : event.clientY + 16}px`;
}

function focusBox(box) {
  flame.focus = box || null;
  byId("details").textContent = box ? describe(box.node).join("; ") : "";
  draw();
}

function zoom(node) {
  if (!flame.tree || node < 0)
    return;
  flame.zoomed = node;
  layOut();
  focusBox(flame.boxes.find((box) => box.node === node));
}

function step(key) {
  const { focus, lines } = flame;
  if (!focus)
    return focusBox(flame.boxes[0]);
  const line = lines[focus.line], at = line.indexOf(focus);
  if (key === "ArrowLeft" || key === "ArrowRight")
    return focusBox(line[at + (key === "ArrowRight" ? 1 : -1)] || focus);
  const next = lines[focus.line + (key === "ArrowDown" ? 1 : -1)] || [], middle = focus.x + focus.width / 2;
  return focusBox(next.find(({ x, width }) => middle >= x && middle < x + width)
    || next.find(({ x }) => x >= focus.x && x < focus.x + focus.width) || focus);
}

function onKey(event) {
  const keys = {
    ArrowUp: () => step("ArrowUp"), ArrowDown: () => step("ArrowDown"), ArrowLeft: () => step("ArrowLeft"),
    ArrowRight: () => step("ArrowRight"), Enter: () => flame.focus && zoom(flame.focus.node),
    Backspace: () => flame.tree && zoom(Math.max(flame.tree.parent[flame.zoomed], 0)), Escape: () => zoom(0),
  };
  const run = !event.ctrlKey && !event.altKey && !event.metaKey && keys[event.key];
  if (!run)
    return;
  event.preventDefault();
  run();
}

// ---- the page ----

// A regular expression without regard to case; what is none is taken as text.
function patternOf(text) {
  if (!text)
    return null;
  try {
    return new RegExp(text, "iu");
  } catch {
    return new RegExp(text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"), "iu");
  }
}

function showProfile() {
  flame.tree = flame.profiles[byId("profile").value] || null;
  flame.zoomed = 0;
  flame.pattern = patternOf(byId("search").value);
  layOut();
  byId("details").textContent = "";
}

function begin() {
  const profiles = [["cpu", "CPU time"], ["waits", "waits"]].filter(([name]) => stacks[name].length > 1);
  for (const [name, text] of profiles) {
    flame.profiles[name] = treeOf(stacks[name]);
    byId("profile").append(new Option(text, name));
  }
  byId("all-rows").checked = !rows.changes.some(({ finding }) => finding);
  fillHead();
  fillTable();
  showProfile();
  joinTimelines();
  byId("row-search").oninput = byId("all-rows").onchange = fillTable;
  byId("profile").onchange = byId("search").oninput = showProfile;
  byId("width").onchange = layOut;
  const canvas = byId("canvas");
  canvas.onkeydown = onKey;
  canvas.onpointermove = showTip;
  canvas.onpointerleave = () => showTip(null);
  canvas.onclick = (event) => {
    const box = boxAt(event);
    if (box)
      zoom(box.node);
  };
  addEventListener("resize", layOut);
  dark.onchange = draw;
  addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.matches("input, select"))
      return;
    event.preventDefault();
    byId("search").focus();
  });
}

// For tests and curious people.
window.sonda = { rows, stacks, table, flame, timelines, describe, colourOf };

begin();
