// SPDX-License-Identifier: Apache-2.0
// The canvases. Intervals of at least a pixel are drawn as they are; of shorter ones a pixel shows how much of it they
// fill, in the colour of the longest. So the work depends on the number of pixels, not on that of rows.

const FONT = "12px system-ui, sans-serif", SMALL_FONT = "11px system-ui, sans-serif";
const LEAST_TEXT = 26; // pixels

// A canvas with its context, sized in CSS pixels.
function sized(canvas) {
  const ratio = devicePixelRatio || 1;
  const width = canvas.clientWidth, height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}

function rect(context, x, y, width, height) {
  frame.items++;
  context.fillRect(x, y, width, height);
}

// The pixels of one row, for those that have many intervals: a column of an image costs less than a rectangle.
const strip = { canvas: document.createElement("canvas"), context: null, image: null, pixels: null, ratio: 1, used: false };

function clearStrip(height) {
  const width = Math.ceil(view.width), ratio = devicePixelRatio || 1, rows = Math.ceil(height * ratio);
  if (!strip.image || strip.image.width !== width || strip.image.height !== rows) {
    strip.canvas.width = width;
    strip.canvas.height = rows;
    strip.context = strip.canvas.getContext("2d");
    strip.image = strip.context.createImageData(width, rows);
    strip.pixels = new Uint32Array(strip.image.data.buffer);
  } else if (strip.used) {
    strip.pixels.fill(0);
  }
  strip.ratio = ratio;
  strip.used = false;
}

// Fills a pixel's column from `bottom` to `top`, which count from the lower edge. Returns the top.
function stripColumn(x, bottom, top, colour) {
  const { width, height } = strip.image, pixel = pixelOf(colour);
  const from = Math.max(height - Math.round(top * strip.ratio), 0), to = Math.min(height - Math.round(bottom * strip.ratio), height);
  strip.used = true;
  frame.items++;
  for (let y = from; y < to; y++)
    strip.pixels[y * width + x] = pixel;
  return top;
}

function drawStrip(context, y, height) {
  if (!strip.used)
    return;
  strip.context.putImageData(strip.image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(strip.canvas, 0, y, strip.image.width, height);
}

// ---- intervals ----

// Calls whole(i, x0, x1) for intervals of a pixel and more, and parts(x, i, j) for a pixel with the rows i to j; `shares`
// then has the share of each class in its time.
function walk(lane, whole, parts) {
  let i = lane.first(view.from);
  const last = lane.last(view.to);
  const least = span() / view.width; // a pixel
  let sumsAt = NaN; // `after` is of this time
  for (let x = 0; i < last && x < view.width;) {
    const start = lane.start[i], end = lane.end[i];
    work.steps++;
    if (end - start >= least) {
      whole(i, Math.max(xOf(start), -1), Math.min(xOf(end), view.width + 1));
      x = Math.max(x, Math.floor(xOf(end)));
      i++;
      continue;
    }
    x = Math.max(x, Math.floor(xOf(start)));
    const t0 = timeAt(x), t1 = timeAt(x + 1);
    let next = Math.max(lowerBoundNear(lane.start, t1, i, last), i + 1);
    if (sumsAt === t0)
      before.set(after);
    else
      lane.addBefore(t0, before.fill(0), 1, start < t0 ? lowerBoundNear(lane.start, t0, i, last) : i);
    lane.addBefore(t1, after.fill(0), 1, next);
    sumsAt = t1;
    for (let c = 1; c <= lane.classes; c++)
      shares[c] = Math.min(Math.max((after[c] - before[c]) / (t1 - t0), 0), 1);
    // A long one that begins here is drawn as it is.
    while (next > i + 1 && lane.end[next - 1] - lane.start[next - 1] >= least)
      next--;
    parts(x, i, next);
    i = next;
    x++;
  }
}

const shares = new Float64Array(STATE_CLASSES + 1), before = new Float64Array(STATE_CLASSES + 1), after = new Float64Array(STATE_CLASSES + 1);

function textIn(context, text, x0, x1, y, colour) {
  x0 = Math.max(x0, 0);
  x1 = Math.min(x1, view.width);
  const room = x1 - x0 - 8;
  if (room < LEAST_TEXT - 8)
    return;
  const most = Math.floor(room / 5.6);
  context.fillStyle = colour;
  let shown = text;
  if (text.length > most || context.measureText(text).width > room) {
    shown = text.slice(0, most);
    while (shown && context.measureText(`${shown}…`).width > room)
      shown = shown.slice(0, -1);
    shown = shown ? `${shown}…` : "";
  }
  if (shown)
    context.fillText(shown, x0 + 4, y);
}

function isMarked(selected, lane, i) {
  return selected && selected.lane === lane && selected.index === i;
}

function drawFrames(context, lane, y, height) {
  for (const [marked, width] of [[view.hover, 1], [view.selected, 2]]) {
    if (!marked || marked.lane !== lane || marked.index < 0)
      continue;
    const x0 = Math.max(xOf(lane.start[marked.index]), -4), x1 = Math.min(xOf(lane.end[marked.index]), view.width + 4);
    if (x1 < 0 || x0 > view.width)
      continue;
    context.strokeStyle = width === 2 ? colours.css.accent : colours.css.ink;
    context.lineWidth = width;
    context.strokeRect(Math.round(x0) + 0.5, y + 0.5, Math.max(Math.round(x1) - Math.round(x0) - 1, 2), height - 1);
  }
}

function drawCpu(context, row, y) {
  const lane = row.cpu.runs, top = y + 3, height = row.height - 6;
  const marked = view.highlight && view.highlight.thread;
  const colourOf = (id) => marked === undefined || marked === null || marked === false || id === marked
    ? colours.fill[threadHue(id)] : colours.faint[threadHue(id)];
  context.font = FONT;
  clearStrip(height);
  walk(lane, (i, x0, x1) => {
    const id = lane.key[i];
    if (id === UNKNOWN || runClass(id) === 0)
      return;
    context.fillStyle = colourOf(id);
    rect(context, x0, top, Math.max(x1 - x0 - 0.5, 0.75), height);
    const thread = model.threads[id];
    textIn(context, `${thread.name} ${thread.tid}`, x0, x1, top + height / 2 + 0.5, colours.css["on-fill"]);
  }, (x, i, j) => {
    const longest = lane.longestOf(i, j);
    if (longest >= 0)
      stripColumn(x, 0, Math.max(height * shares[1], 1), colourOf(lane.key[longest]));
  });
  drawStrip(context, top, height);
  drawFrames(context, lane, top, height);
}

function drawStates(context, row, y) {
  const lane = row.thread.states, top = y + 4, height = row.height - 8;
  if (!lane)
    return;
  context.font = SMALL_FONT;
  clearStrip(height);
  walk(lane, (i, x0, x1) => {
    const state = lane.key[i];
    if (state === UNKNOWN)
      return;
    const kind = stateClassOf(state);
    if (kind === 0 && /^[XxZ]/.test(model.states[state - 1]))
      return;
    context.fillStyle = colours.state[kind];
    if (kind === 0 || kind === ASLEEP) {
      rect(context, x0, top + height - 2, Math.max(x1 - x0, 0.75), 1.5);
      return;
    }
    rect(context, x0, top, Math.max(x1 - x0 - 0.5, 0.75), height);
    textIn(context, stateText(model.states[state - 1]), x0, x1, top + height / 2 + 0.5, colours.css["on-fill"]);
  }, (x, i, j) => {
    let bottom = 0;
    for (const kind of [RUNNING, RUNNABLE, BLOCKED])
      if (shares[kind] > 0)
        bottom = stripColumn(x, bottom, bottom + Math.max(height * shares[kind], 0.5), colours.state[kind]);
  });
  drawStrip(context, top, height);
  drawFrames(context, lane, top, height);
}

function drawSlices(context, row, y) {
  const marked = view.highlight && view.highlight.name;
  const colourOf = (name) => !marked || name === marked ? colours.fill[nameHue(name)] : colours.faint[nameHue(name)];
  context.font = SMALL_FONT;
  row.track.lanes.slice(0, MOST_DEPTHS).forEach((lane, depth) => {
    const top = y + 3 + depth * HEIGHT.slice, height = HEIGHT.slice - 1;
    clearStrip(height);
    walk(lane, (i, x0, x1) => {
      context.fillStyle = colourOf(lane.key[i]);
      rect(context, x0, top, Math.max(x1 - x0 - 0.5, 0.75), height);
      textIn(context, model.strings[lane.key[i]] || "", x0, x1, top + height / 2 + 0.5, colours.css["on-fill"]);
    }, (x, i, j) => {
      // Instants have no length, but are seen.
      stripColumn(x, 0, height * Math.max(shares[1], 0.25), colourOf(lane.key[lane.longestOf(i, j)]));
    });
    drawStrip(context, top, height);
    drawFrames(context, lane, top, height);
  });
}

// ---- counters ----

function drawSamples(context, row, y) {
  const { samples } = row.track, top = y + 5, height = row.height - 9;
  const first = Math.max(samples.at(view.from), 0), last = lowerBound(samples.time, view.to, 0, samples.n);
  if (first >= last)
    return;
  let [least, most] = samples.extremes(first, last);
  if (least >= 0)
    least = 0;
  const scale = most > least ? height / (most - least) : 0;
  const yOf = (v) => top + height - (Number.isFinite(v) ? (v - least) * scale : 0);
  context.beginPath();
  let x = Math.max(xOf(samples.time[first]), 0);
  const left = x;
  let before = yOf(samples.value[first]);
  context.moveTo(x, before);
  for (let i = first + 1; i < last;) {
    x = Math.floor(xOf(samples.time[i]));
    const next = Math.max(lowerBound(samples.time, timeAt(x + 1), i, last), i + 1);
    const [low, high] = samples.extremes(i, next);
    context.lineTo(x, before);
    if (next - i > 1) {
      context.lineTo(x, yOf(high));
      context.lineTo(x, yOf(low));
    }
    before = yOf(samples.value[next - 1]);
    context.lineTo(x, before);
    frame.items++;
    i = next;
  }
  const right = Math.min(xOf(model.facts.end), view.width);
  context.lineTo(right, before);
  context.strokeStyle = colours.css["counter-line"];
  context.lineWidth = 1;
  context.stroke();
  context.lineTo(right, yOf(Math.max(least, 0)));
  context.lineTo(left, yOf(Math.max(least, 0)));
  context.fillStyle = colours.css.counter;
  context.fill();
  frame.items += 2;
  context.font = SMALL_FONT;
  const text = valueText(most, row.track.unit);
  context.fillStyle = colours.css.paper;
  context.globalAlpha = 0.75;
  context.fillRect(2, y + 4, context.measureText(text).width + 6, 14);
  context.globalAlpha = 1;
  context.fillStyle = colours.css.dim;
  context.fillText(text, 5, y + 11.5);
  if (view.hover && view.hover.row === row && view.hover.index >= 0)
    drawPoint(context, samples, view.hover.index, yOf, colours.css.ink);
  if (view.selected && view.selected.row === row && view.selected.index >= 0)
    drawPoint(context, samples, view.selected.index, yOf, colours.css.accent);
}

function drawPoint(context, samples, i, yOf, colour) {
  context.fillStyle = colour;
  context.beginPath();
  context.arc(xOf(samples.time[i]), yOf(samples.value[i]), 3, 0, 7);
  context.fill();
}

// ---- all rows ----

const PAINT = { cpu: drawCpu, thread: drawStates, slices: drawSlices, samples: drawSamples };

function drawAll() {
  const rows = byId("rows"), { context, width, height } = sized(byId("canvas"));
  const top = rows.scrollTop;
  view.width = Math.max(width, 1);
  context.textBaseline = "middle";
  drawGrid(context, height);
  for (let i = rowIndexAt(top); i < tree.list.length && tree.list[i].y < top + height; i++) {
    const row = tree.list[i], y = row.y - top;
    if (row.kind === "group") {
      context.fillStyle = colours.css.row;
      rect(context, 0, y, width, row.height - 1);
    } else if (i === tree.focus) {
      context.fillStyle = colours.css["row-focus"];
      rect(context, 0, y, width, row.height - 1);
    }
    if (PAINT[row.kind])
      PAINT[row.kind](context, row, y);
    context.fillStyle = colours.css.line;
    rect(context, 0, y + row.height - 1, width, 1);
  }
  drawRange(context, height);
  drawArrows(context, top);
  drawRuler();
  drawWindow();
}

function drawRange(context, height) {
  if (!view.range)
    return;
  const x0 = xOf(view.range.from), x1 = xOf(view.range.to);
  context.fillStyle = colours.css.range;
  context.fillRect(Math.max(x0, 0), 0, Math.min(x1, view.width) - Math.max(x0, 0), height);
  context.fillStyle = colours.css.accent;
  for (const x of [x0, x1])
    if (x >= 0 && x <= view.width)
      context.fillRect(Math.round(x), 0, 1, height);
}

// ---- time ----

function steps() {
  const step = roundStep(span() / Math.max(view.width / 110, 2));
  const list = [];
  for (let t = Math.ceil(view.from / step) * step; t <= view.to && list.length < 200; t += step)
    list.push(t);
  return { step, list };
}

function drawGrid(context, height) {
  context.fillStyle = colours.css.line;
  for (const t of steps().list)
    rect(context, Math.round(xOf(t)), 0, 1, height);
}

function drawRuler() {
  const { context, width, height } = sized(byId("ruler")), { step, list } = steps();
  context.font = SMALL_FONT;
  context.textBaseline = "middle";
  for (const t of list) {
    const x = Math.round(xOf(t));
    context.fillStyle = colours.css.line;
    rect(context, x, height - 8, 1, 8);
    const text = tickText(t, step);
    if (x + context.measureText(text).width + 4 > width)
      continue;
    context.fillStyle = colours.css.dim;
    context.fillText(text, x + 4, height / 2);
  }
  if (view.range) {
    const x0 = xOf(view.range.from), x1 = xOf(view.range.to);
    context.fillStyle = colours.css.range;
    context.fillRect(x0, 0, x1 - x0, height);
    const text = durationText(view.range.to - view.range.from), room = context.measureText(text).width;
    if (x1 - x0 > room + 12) {
      const x = (Math.max(x0, 0) + Math.min(x1, width) - room) / 2;
      context.fillStyle = colours.css.accent;
      context.fillRect(x - 5, 3, room + 10, height - 8);
      context.fillStyle = colours.css.paper;
      context.fillText(text, x, height / 2 - 1);
    }
  }
  byId("window-text").textContent = `${durationText(span())} of ${durationText(view.most - view.least)}`;
}

// As many digits as the step has, and the unit of seconds.
function tickText(t, step) {
  const digits = Math.min(9, Math.max(0, -Math.floor(Math.log10(step / 1e9) + 1e-9)));
  return `${grouped((t / 1e9).toFixed(digits))} s`;
}

// ---- the whole trace ----

const overviewImage = document.createElement("canvas");

// How busy all CPUs were; drawn anew only if the size or the colours change.
function drawOverview() {
  const { context, width, height } = sized(byId("overview"));
  const top = 6, room = height - 12, whole = view.most - view.least;
  context.fillStyle = colours.css.row;
  context.fillRect(0, top, width, room);
  for (let x = 0; x < width; x++) {
    const t0 = view.least + x / width * whole, t1 = view.least + (x + 1) / width * whole;
    let busy = 0;
    for (const { runs } of model.cpus) {
      busy += runs.sumsBetween(t0, t1)[1] / (t1 - t0);
    }
    const part = model.cpus.length ? room * busy / model.cpus.length : 0;
    context.fillStyle = colours.css.running;
    context.fillRect(x, top + room - part, 1, part);
  }
  overviewImage.width = byId("overview").width;
  overviewImage.height = byId("overview").height;
  overviewImage.getContext("2d").drawImage(byId("overview"), 0, 0);
}

function drawWindow() {
  const canvas = byId("overview");
  const context = canvas.getContext("2d"), width = canvas.clientWidth, height = canvas.clientHeight;
  context.clearRect(0, 0, width, height);
  context.drawImage(overviewImage, 0, 0, width, height);
  const whole = view.most - view.least, x0 = (view.from - view.least) / whole * width;
  const x1 = Math.max((view.to - view.least) / whole * width, x0 + 2);
  context.globalAlpha = 0.6;
  context.fillStyle = colours.css.paper;
  context.fillRect(0, 0, x0, height);
  context.fillRect(x1, 0, width - x1, height);
  context.globalAlpha = 1;
  if (view.range) {
    context.fillStyle = colours.css.range;
    const r0 = (view.range.from - view.least) / whole * width;
    context.fillRect(r0, 0, Math.max((view.range.to - view.range.from) / whole * width, 1), height);
  }
  context.strokeStyle = colours.css.accent;
  context.lineWidth = 1.5;
  context.strokeRect(x0 + 0.75, 3.75, Math.max(x1 - x0 - 1.5, 1), height - 7.5);
}
