// SPDX-License-Identifier: Apache-2.0
// The timelines of one recording of each side: two pages of sonda report --html in frames. Both show the same period,
// counted from a zero in each, the same range, and the row of the same name. The one that was used last leads.

const timelines = { pages: [], leader: null };

// Names of rows without the numbers of processes and threads, which differ from one recording to the next.
function rowKey(row) {
  const name = row.label.replace(/\d+/gu, "#");
  return row.parent ? `${rowKey(row.parent)}\n${name}` : name;
}

function sameRange(x, y) {
  return x ? Boolean(y) && Math.abs(x.from - y.from) < 1 && Math.abs(x.to - y.to) < 1 : !y;
}

// Draws nothing if the other timeline is where the leader is.
function follow(leader, other) {
  const { view, tree } = leader.sonda, shift = other.zero - leader.zero, moved = ({ from, to }) => ({ from: from + shift, to: to + shift });
  const shown = moved(view), range = view.range && moved(view.range);
  if (!sameRange(shown, other.sonda.view))
    other.sonda.showWindow(shown.from, shown.to);
  if (!sameRange(range, other.sonda.view.range)) {
    if (range)
      other.sonda.setRange(range.from, range.to);
    else
      other.sonda.clearRange();
  }
  const row = tree.list[tree.focus];
  if (row === leader.row)
    return;
  leader.row = row;
  const key = row && rowKey(row), found = row && [...other.sonda.everyRow()].find((candidate) => rowKey(candidate) === key);
  if (!found)
    return;
  other.sonda.unfoldTo(found);
  other.sonda.focusRow(found.index);
}

// Both can show the period of the longer one.
function alignAt(zeros, text) {
  const { pages } = timelines;
  pages.forEach((page, i) => {
    page.zero = zeros[i];
  });
  const least = Math.min(...pages.map(({ first, zero }) => first - zero)), most = Math.max(...pages.map(({ last, zero }) => last - zero));
  for (const { sonda, zero } of pages) {
    sonda.view.least = least + zero;
    sonda.view.most = most + zero;
    sonda.drawSoon(true);
  }
  byId("alignment").textContent = text;
}

function alignBeginnings() {
  alignAt(timelines.pages.map(({ first }) => first), "Aligned at the beginning of both.");
  for (const { sonda } of timelines.pages)
    sonda.showWindow(sonda.view.least, sonda.view.most);
}

function alignSelected() {
  const chosen = timelines.pages.map(({ sonda }) => sonda.view.selected);
  if (!chosen.every((place) => place && place.lane)) {
    byId("alignment").textContent = "Select an interval in each timeline first.";
    return;
  }
  alignAt(chosen.map(({ lane, index }) => lane.start[index]), "Aligned at the selected intervals.");
  timelines.leader ||= timelines.pages[0];
  timelines.leader.sonda.view.afterFrame();
}

function loaded(frame) {
  return new Promise((resolve) => {
    if (frame.contentWindow.sonda)
      resolve();
    else
      frame.addEventListener("load", resolve, { once: true });
  });
}

async function openTimeline(frame) {
  await loaded(frame);
  const { contentWindow } = frame, { sonda } = contentWindow;
  await sonda.ready;
  const page = { sonda, first: sonda.view.least, last: sonda.view.most, zero: sonda.view.least, row: null };
  for (const type of ["pointerdown", "wheel", "keydown"])
    contentWindow.addEventListener(type, () => {
      timelines.leader = page;
    }, { capture: true, passive: true });
  return page;
}

async function joinTimelines() {
  const frames = ["A", "B"].map((side) => byId(`timeline-${side}`));
  if (!frames.every(Boolean))
    return;
  byId("timelines").hidden = false;
  timelines.pages = await Promise.all(frames.map(openTimeline));
  timelines.pages.forEach((page, i) => {
    page.sonda.view.afterFrame = () => {
      if (timelines.leader === page)
        follow(page, timelines.pages[1 - i]);
    };
  });
  byId("align-selected").onclick = alignSelected;
  byId("align-begin").onclick = alignBeginnings;
  alignBeginnings();
}
