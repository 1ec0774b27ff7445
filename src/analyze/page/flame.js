// SPDX-License-Identifier: Apache-2.0
// The flame graph below the timeline: the functions of a profile, as wide as their weight. It follows the range and the
// selected thread.

const FLAME_ROW = 20, FLAME_LEAST = 0.5, FLAME_TEXT = 30; // heights and widths in pixels

const VIEWS = [["top-down", "Top down: callees below"], ["bottom-up", "Bottom up: callers below"], ["pivot", "Pivot: callers above, callees below"]];

const flame = {
  profile: 0, view: "top-down", pivot: NO_SITE, thread: null, allThreads: false,
  search: null, filters: [], // a regular expression; {pattern, shows}
  sums: null, whole: 0, samples: 0, trees: null, // what is selected
  tree: null, zoomed: 0, // the node that fills the width
  matches: null, // of the search, by function
  boxes: [], rows: [], focus: null, hover: null,
  box: null, canvas: null, caption: null, // elements, made once
};

const hasStacks = () => stacks.profiles.some(({ n }) => n > 0);

// ---- what is shown ----

function flameWeight(weight) {
  const { unit } = stacks.profiles[flame.profile];
  return unit === "ns" ? durationText(weight) : unit === "bytes" ? valueText(weight, unit) : countText(weight);
}

function threadOfSelection() {
  const { selected } = view;
  if (!selected)
    return null;
  const { row, lane, index } = selected;
  if (row.kind === "thread")
    return row.thread;
  if (row.kind === "cpu")
    return lane.key[index] === UNKNOWN ? null : model.threads[lane.key[index]];
  return row.track.thread;
}

// A filter that shows keeps the stacks with a function that matches; one that hides removes them.
function passingSums(sums) {
  for (const { pattern, shows } of flame.filters) {
    const found = matchSites(matchFunctions(pattern));
    for (let i = 0; i < sums.length; i++)
      if (Boolean(found[i]) !== shows)
        sums[i] = 0;
  }
  return sums;
}

function updateFlame() {
  const profile = stacks.profiles[flame.profile], thread = flame.allThreads ? null : threadOfSelection();
  const { sums, samples } = weighSites(profile, tableRange(), thread);
  flame.thread = thread;
  flame.samples = samples;
  flame.sums = passingSums(sums);
  flame.whole = flame.sums.reduce((sum, weight) => sum + weight, 0);
  flame.trees = buildTrees(flame.sums, flame.view, flame.pivot);
  flame.tree = flame.trees.down;
  flame.zoomed = 0;
  flame.focus = null;
  layOutFlame();
}

function matchedWeight() {
  const found = matchSites(flame.matches);
  return flame.sums.reduce((sum, weight, site) => sum + (found[site] ? weight : 0), 0);
}

function captionText() {
  const { n, name } = stacks.profiles[flame.profile], { whole } = flame;
  const whose = flame.thread ? ` of ${threadText(flame.thread)}` : "";
  const weight = flame.samples === whole ? "" : `${flameWeight(whole)} in `;
  let text = `${name}: ${weight}${countText(flame.samples)} of ${countText(n)} samples${whose}.`;
  if (flame.search) {
    const matched = matchedWeight();
    text += ` Matches: ${flameWeight(matched)}, ${shareText(matched / (whole || 1))}.`;
  }
  if (!whole)
    text += flame.thread ? " Select another thread, or show all of them." : " Nothing is in the range.";
  return text;
}

// ---- layout ----

// Places the children of a node below it, the heaviest first; those that are too narrow are one grey box.
function placeChildren(tree, node, x, width, depth, step, boxes) {
  const children = [...tree.children[node].values()].sort((a, b) => tree.total[b] - tree.total[a]);
  let at = x, narrow = 0;
  for (const child of children) {
    const part = width * tree.total[child] / tree.total[node];
    if (part < FLAME_LEAST) {
      narrow += part;
      continue;
    }
    boxes.push({ tree, node: child, x: at, width: part, row: depth });
    placeChildren(tree, child, at, part, depth + step, step, boxes);
    at += part;
  }
  if (narrow >= FLAME_LEAST)
    boxes.push({ tree, node: NO_SITE, x: at, width: narrow, row: depth });
}

function layOutFlame() {
  const width = Math.max(flame.box.clientWidth - 2, 100), boxes = [];
  const { up } = flame.trees, { tree, zoomed } = flame;
  const path = [];
  for (let node = zoomed; node > 0; node = tree.parent[node])
    path.unshift(node);
  if (tree.total[0]) {
    if (!path.length && flame.view !== "pivot")
      boxes.push({ tree, node: 0, x: 0, width, row: 0 });
    const first = path.length ? 0 : flame.view === "pivot" ? 0 : 1;
    path.forEach((node, i) => boxes.push({ tree, node, x: 0, width, row: first + (tree === up ? -1 - i : i) }));
    const depth = first + path.length;
    placeChildren(tree, zoomed, 0, width, tree === up ? -1 - path.length : depth, tree === up ? -1 : 1, boxes);
    if (flame.view === "pivot" && !path.length)
      placeChildren(up, 0, 0, width, -1, -1, boxes);
  }
  const top = Math.min(0, ...boxes.map(({ row }) => row));
  flame.rows = [];
  for (const box of boxes) {
    box.row -= top;
    (flame.rows[box.row] ||= []).push(box);
  }
  for (const row of flame.rows)
    row && row.sort((a, b) => a.x - b.x);
  flame.boxes = boxes;
  flame.canvas.style.height = `${Math.max(flame.rows.length, 1) * FLAME_ROW}px`;
  flame.caption.textContent = captionText();
  drawFlame();
}

// ---- drawing ----

function boxText({ tree, node }) {
  return node === 0 ? "all" : node === NO_SITE ? "" : stacks.functions[tree.function[node]].text;
}

function boxColour({ tree, node }) {
  if (node <= 0)
    return colours.css.row;
  const { kernel, file } = stacks.functions[tree.function[node]];
  return kernel ? colours.css.runnable : colours.fill[textHue(file)];
}

function drawFlame() {
  const { canvas, rows } = flame, ratio = devicePixelRatio || 1;
  const width = Math.max(flame.box.clientWidth - 2, 100), height = Math.max(rows.length, 1) * FLAME_ROW;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const c = canvas.getContext("2d");
  c.scale(ratio, ratio);
  c.clearRect(0, 0, width, height);
  c.font = "12px system-ui, sans-serif";
  c.textBaseline = "middle";
  for (const box of flame.boxes) {
    const y = box.row * FLAME_ROW, w = Math.max(box.width - 0.5, FLAME_LEAST), plain = box.node <= 0;
    const matches = flame.search && !plain && flame.matches[box.tree.function[box.node]];
    c.globalAlpha = flame.search && !matches ? 0.35 : 1;
    c.fillStyle = matches ? colours.css.accent : boxColour(box);
    c.fillRect(box.x, y, w, FLAME_ROW - 1);
    if (box === flame.focus) {
      c.globalAlpha = 1;
      c.strokeStyle = colours.css.ink;
      c.lineWidth = 2;
      c.strokeRect(box.x + 1, y + 1, Math.max(w - 2, 1), FLAME_ROW - 3);
    }
    if (w < FLAME_TEXT)
      continue;
    c.save();
    c.beginPath();
    c.rect(box.x + 4, y, w - 8, FLAME_ROW);
    c.clip();
    c.fillStyle = plain ? colours.css.ink : matches ? colours.css.paper : colours.css["on-fill"];
    c.fillText(boxText(box), box.x + 4, y + FLAME_ROW / 2);
    c.restore();
  }
  c.globalAlpha = 1;
}

// ---- one box ----

function boxAt(event) {
  const bounds = flame.canvas.getBoundingClientRect();
  const x = event.clientX - bounds.left, row = flame.rows[Math.floor((event.clientY - bounds.top) / FLAME_ROW)] || [];
  return row.find((box) => x >= box.x && x < box.x + box.width) || null;
}

function describeBox({ tree, node }) {
  const total = node >= 0 ? tree.total[node] : 0;
  if (node === NO_SITE)
    return { title: "functions that are too narrow to show", pairs: [["", "press Enter on the caller to zoom in"]] };
  const above = tree.parent[node], pairs = [
    ["total", `${flameWeight(total)}, ${shareText(total / flame.whole)}`],
    ["self", tree === flame.trees.down && flame.view !== "bottom-up" ? flameWeight(tree.self[node]) : ""],
    ["of its caller", above > 0 && flame.view === "top-down" ? shareText(total / tree.total[above]) : ""],
    ["file", node > 0 ? stacks.functions[tree.function[node]].file : ""],
  ];
  return { title: boxText({ tree, node }), pairs: pairs.filter(([, value]) => value) };
}

function showFlameTip(event) {
  const box = event && boxAt(event);
  flame.hover = box;
  if (!box) {
    byId("tip").hidden = true;
    return;
  }
  const said = describeBox(box);
  placeTip(said.title, said.pairs, event.clientX, event.clientY);
}

function focusBox(box) {
  flame.focus = box;
  if (!box)
    return;
  const said = describeBox(box);
  say([said.title, ...said.pairs.map(([name, value]) => `${name} ${value}`)].join(", "));
  flame.canvas.setAttribute("aria-label", said.title);
  drawFlame();
}

function zoomFlame(box) {
  if (!box || box.node === NO_SITE)
    return;
  flame.tree = box.tree;
  flame.zoomed = box.node;
  layOutFlame();
  focusBox(flame.boxes.find(({ tree, node }) => tree === box.tree && node === box.node) || null);
}

function zoomFlameOut() {
  const { tree, zoomed } = flame;
  zoomFlame({ tree: zoomed > 0 && tree.parent[zoomed] > 0 ? tree : flame.trees.down, node: zoomed > 0 ? tree.parent[zoomed] : 0 });
}

function pivotOn(box) {
  if (!box || box.node <= 0)
    return;
  flame.pivot = box.tree.function[box.node];
  setFlameView("pivot");
}

function setFlameView(name) {
  if (name === "pivot" && flame.pivot === NO_SITE)
    flame.pivot = heaviestFunction();
  flame.view = name;
  flame.box.querySelector(".flame-view").value = name;
  updateFlame();
}

// By the weight of the samples that ran in it.
function heaviestFunction() {
  const sums = new Map();
  flame.sums.forEach((weight, site) => weight && sums.set(stacks.functionOf[site], (sums.get(stacks.functionOf[site]) || 0) + weight));
  return [...sums].reduce((most, entry) => entry[1] > most[1] ? entry : most, [0, -1])[0];
}

// ---- keys ----

function stepFlame(key) {
  const { focus, rows } = flame;
  if (!focus)
    return focusBox(flame.boxes[0] || null);
  const row = rows[focus.row], at = row.indexOf(focus);
  if (key === "ArrowLeft" || key === "ArrowRight")
    return focusBox(row[at + (key === "ArrowRight" ? 1 : -1)] || focus);
  const next = rows[focus.row + (key === "ArrowDown" ? 1 : -1)] || [], middle = focus.x + focus.width / 2;
  return focusBox(next.find(({ x, width }) => middle >= x && middle < x + width)
    || next.find(({ x }) => x >= focus.x && x < focus.x + focus.width) || focus);
}

function onFlameKey(event) {
  const keys = {
    ArrowUp: () => stepFlame("ArrowUp"), ArrowDown: () => stepFlame("ArrowDown"), ArrowLeft: () => stepFlame("ArrowLeft"),
    ArrowRight: () => stepFlame("ArrowRight"), Enter: () => zoomFlame(flame.focus), Backspace: zoomFlameOut,
    p: () => pivotOn(flame.focus), Escape: () => zoomFlame({ tree: flame.trees.down, node: 0 }),
  };
  const run = !event.ctrlKey && !event.altKey && !event.metaKey && keys[event.key];
  if (!run)
    return;
  event.preventDefault();
  event.stopPropagation();
  run();
}

// ---- the bar ----

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

function searchFlame(text) {
  flame.search = patternOf(text);
  flame.matches = flame.search ? matchFunctions(flame.search) : null;
  flame.caption.textContent = captionText();
  drawFlame();
}

function addFilter(shows) {
  if (!flame.search)
    return;
  flame.filters.push({ pattern: flame.search, shows });
  flame.box.querySelector(".flame-search").value = "";
  searchFlame("");
  listFilters();
  updateFlame();
}

function listFilters() {
  flame.box.querySelector(".flame-filters").replaceChildren(...flame.filters.map((filter) =>
    actionOf(`${filter.shows ? "only" : "without"} ${filter.pattern.source} ✕`, () => {
      flame.filters.splice(flame.filters.indexOf(filter), 1);
      listFilters();
      updateFlame();
    })));
}

function choiceOf(name, label, entries, onChange) {
  const select = document.createElement("select");
  select.className = name;
  select.setAttribute("aria-label", label);
  entries.forEach(([value, text]) => select.append(new Option(text, value)));
  select.onchange = () => onChange(select.value);
  return select;
}

function flameBar() {
  const bar = document.createElement("div"), input = document.createElement("input"), filters = document.createElement("span");
  bar.className = "flame-bar";
  input.type = "search";
  input.className = "flame-search";
  input.placeholder = "Search functions";
  input.setAttribute("aria-label", "Search functions, by a regular expression");
  input.oninput = () => searchFlame(input.value);
  input.onkeydown = (event) => event.stopPropagation();
  filters.className = "flame-filters";
  const threads = actionOf("", () => {
    flame.allThreads = !flame.allThreads;
    threads.setAttribute("aria-pressed", String(flame.allThreads));
    updateFlame();
  });
  threads.textContent = "All threads";
  threads.className = "flame-threads";
  threads.setAttribute("aria-pressed", "false");
  bar.append(
    choiceOf("flame-profile", "Profile", stacks.profiles.map(({ name }, i) => [i, name]), (value) => {
      flame.profile = Number(value);
      updateFlame();
    }),
    choiceOf("flame-view", "View", VIEWS, setFlameView), threads, input, actionOf("Only these stacks", () => addFilter(true)),
    actionOf("Hide these stacks", () => addFilter(false)), filters);
  return bar;
}

function makeFlame() {
  const canvas = flame.canvas = document.createElement("canvas");
  flame.box = document.createElement("div");
  flame.caption = document.createElement("p");
  flame.box.className = "flame";
  flame.caption.className = "flame-caption";
  flame.caption.setAttribute("role", "status");
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", "Flame graph. Arrow keys move between functions, Enter zooms, P makes a function the pivot.");
  canvas.onkeydown = onFlameKey;
  canvas.onpointermove = showFlameTip;
  canvas.onpointerleave = () => showFlameTip(null);
  canvas.onclick = (event) => zoomFlame(boxAt(event));
  canvas.oncontextmenu = (event) => {
    event.preventDefault();
    pivotOn(boxAt(event));
  };
  flame.box.append(flameBar(), flame.caption, canvas);
  new ResizeObserver(() => flame.trees && layOutFlame()).observe(flame.box);
}

function flameContent() {
  if (!flame.box)
    makeFlame();
  requestAnimationFrame(updateFlame);
  return flame.box;
}

// From a slice: the graph of its profile, zoomed to its stack.
function goToStack(profile, site) {
  flame.profile = profile;
  flame.view = "top-down";
  showTab("flame");
  flame.box.querySelector(".flame-profile").value = String(profile);
  flame.box.querySelector(".flame-view").value = flame.view;
  requestAnimationFrame(() => {
    let node = 0;
    for (const number of pathOf(site).reverse())
      node = flame.trees.down.children[node].get(number) ?? node;
    zoomFlame({ tree: flame.trees.down, node });
  });
}
