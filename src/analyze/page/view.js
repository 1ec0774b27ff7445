// SPDX-License-Identifier: Apache-2.0
// What is shown: the window of time, the range, the selected interval; and when it is drawn.

const LEAST_SPAN = 50; // ns

const view = {
  from: 0, to: 1, // ns since the trace's start, on the canvas from its left to its right
  least: 0, most: 1, // of all windows
  width: 1, // of the canvas, in CSS pixels
  range: null, // {from, to}
  selected: null, // {row, lane, index}
  highlight: null, // {thread} or {name}: what is drawn brighter than the rest
  hover: null, // {x, y, row, lane, index}
  afterFrame: null, // a function; the page of sonda diff keeps two timelines together
};

// Of the last frame: what was drawn, rows of the trace that were looked at, and how long that took.
const frame = { number: 0, items: 0, steps: 0, arrows: 0, ms: 0 };

const byId = (id) => document.getElementById(id);

function span() {
  return view.to - view.from;
}

function xOf(t) {
  return (t - view.from) / (view.to - view.from) * view.width;
}

function timeAt(x) {
  return view.from + x / view.width * (view.to - view.from);
}

function showWindow(from, to) {
  const whole = view.most - view.least;
  const length = Math.min(whole, Math.max(LEAST_SPAN, to - from));
  const middle = (from + to) / 2;
  from = Math.min(Math.max(length === to - from ? from : middle - length / 2, view.least), view.most - length);
  view.from = from;
  view.to = from + length;
  drawSoon();
}

// Keeps the time that is at x there.
function zoom(factor, x = view.width / 2) {
  const t = timeAt(x), length = Math.min(Math.max(span() * factor, LEAST_SPAN), view.most - view.least);
  const from = t - (x / view.width) * length;
  showWindow(from, from + length);
}

function pan(ns) {
  showWindow(view.from + ns, view.to + ns);
}

function showWhole() {
  showWindow(view.least, view.most);
}

// Shows an interval with some room on both sides.
function showInterval(from, to) {
  const room = Math.max((to - from) * 0.5, LEAST_SPAN);
  showWindow(from - room, to + room);
}

// Moves the window as little as needed.
function reveal(from, to) {
  if (to - from > span())
    showInterval(from, to);
  else if (from < view.from)
    pan(from - view.from - span() * 0.1);
  else if (to > view.to)
    pan(to - view.to + span() * 0.1);
}

function setRange(from, to) {
  if (from > to)
    [from, to] = [to, from];
  from = Math.max(Math.round(from), view.least);
  to = Math.min(Math.round(to), view.most);
  view.range = to > from ? { from, to } : null;
  fillTablesSoon();
  drawSoon();
}

function clearRange() {
  view.range = null;
  fillTablesSoon();
  drawSoon();
}

function select(selected) {
  view.selected = selected;
  view.highlight = selected ? highlightOf(selected) : null;
  showSelection();
  drawSoon();
}

// ---- frames ----

let wanted = false, overviewWanted = true;

// all: the theme, the rows or the size changed.
function drawSoon(all = false) {
  if (all)
    overviewWanted = true;
  if (wanted)
    return;
  wanted = true;
  requestAnimationFrame(() => {
    const began = performance.now();
    wanted = false;
    work.steps = 0;
    frame.items = 0;
    if (overviewWanted)
      drawOverview();
    overviewWanted = false;
    placeLabels();
    drawAll();
    frame.steps = work.steps;
    frame.ms = performance.now() - began;
    frame.number++;
    view.afterFrame?.();
  });
}

// For people who listen.
function say(text) {
  byId("live").textContent = text;
}
