// SPDX-License-Identifier: Apache-2.0
// What an interval or a sample is, in words: for the tooltip, the selection and people who listen.

const STATE_TEXTS = {
  Running: "running", R: "runnable", "R+": "runnable, preempted", S: "asleep", D: "blocked", I: "idle", T: "stopped", t: "traced",
  X: "exited", Z: "zombie", x: "exited", K: "wakekill", W: "waking", P: "parked", N: "no load",
};

function stateText(state) {
  return STATE_TEXTS[state] || (/^D/.test(state) ? `blocked (${state})` : state || "unknown");
}

function pairsOfTime(lane, i) {
  const open = lane.open.has(i);
  return [
    ["start", exactTimeText(lane.start[i])],
    ["duration", open ? `${durationText(lane.end[i] - lane.start[i])}, not finished at the end of the trace` : durationText(lane.end[i] - lane.start[i])],
  ];
}

function threadPairs(thread) {
  return [
    ["thread", threadText(thread)],
    ["process", thread.process ? processText(thread.process) : ""],
  ];
}

function wakeupPairs(wakeup) {
  return wakeup ? [["woken by", threadText(wakeup.waker)], ["woken in", wakeup.irq ? "an interrupt" : ""]] : [];
}

function describeRun(row, i) {
  const lane = row.cpu.runs, at = lane.offset + i;
  if (lane.key[i] === UNKNOWN)
    return { title: "not covered by the trace", pairs: pairsOfTime(lane, i) };
  const thread = model.threads[lane.key[i]], end = model.runEnd[at], state = stateOf({ row, lane, index: i });
  return {
    title: thread.idle ? "idle" : threadText(thread),
    pairs: [
      ["ran on", row.label],
      ["process", thread.process ? processText(thread.process) : ""],
      ...pairsOfTime(lane, i),
      ["then", lane.open.has(i) || !end ? "" : stateText(model.states[end - 1])],
      ["priority", String(model.runPriority[at])],
      ...wakeupPairs(state && wakeupOf(state.thread, state.index - 1)),
    ],
  };
}

function describeState(row, i) {
  const lane = row.thread.states, state = lane.key[i], more = model.stateMore[lane.offset + i];
  const pairs = [...threadPairs(row.thread), ...pairsOfTime(lane, i)];
  if (state === UNKNOWN)
    return { title: "not covered by the trace", pairs };
  const name = model.states[state - 1], kind = stateClassOf(state);
  if (kind === RUNNING && more > 0)
    pairs.push(["on", cpuText(more - 1)]);
  pairs.push(...wakeupPairs(wakeupOf(row.thread, kind === RUNNING ? i - 1 : i)));
  if (kind !== RUNNING && name !== "R" && more > 0) {
    pairs.push(["blocked in", model.strings[more - 1 >> 1] || ""]);
    pairs.push(["for I/O", (more - 1) % 2 ? "yes" : ""]);
  }
  return { title: stateText(name), pairs };
}

function describeSlice(row, lane, i) {
  return {
    title: model.strings[lane.key[i]] || "(no name)",
    pairs: [
      ["category", model.strings[lane.category[i]] || ""],
      ["track", row.label],
      ...(row.track.thread ? threadPairs(row.track.thread) : []),
      ["process", !row.track.thread && row.track.process ? processText(row.track.process) : ""],
      ...pairsOfTime(lane, i),
      ["depth", lane.depth ? String(lane.depth) : ""],
    ],
  };
}

function describeSample(row, i) {
  const { samples, unit, process } = row.track;
  return {
    title: valueText(samples.value[i], unit),
    pairs: [
      ["counter", row.label],
      ["process", process ? processText(process) : ""],
      ["value", `${grouped(String(samples.value[i]))} ${unit}`],
      ["change since the previous sample", i > 0 ? valueText(samples.value[i] - samples.value[i - 1], unit) : ""],
      ["at", exactTimeText(samples.time[i])],
      ["until the next sample", i + 1 < samples.n ? durationText(samples.time[i + 1] - samples.time[i]) : ""],
    ],
  };
}

// {title, pairs} of {row, lane, index}; pairs without a value are left out.
function describe({ row, lane, index }) {
  const said = row.kind === "cpu" ? describeRun(row, index)
    : row.kind === "thread" ? describeState(row, index)
      : row.kind === "slices" ? describeSlice(row, lane, index) : describeSample(row, index);
  said.pairs = said.pairs.filter(([, value]) => value);
  return said;
}

function highlightOf({ row, lane, index }) {
  if (row.kind === "cpu")
    return lane.key[index] === UNKNOWN ? null : { thread: lane.key[index] };
  if (row.kind === "thread")
    return { thread: row.thread.id };
  return row.kind === "slices" ? { name: lane.key[index] } : null;
}

function fillPairs(list, pairs) {
  list.replaceChildren(...pairs.flatMap(([name, value]) => {
    const term = document.createElement("dt"), text = document.createElement("dd");
    term.textContent = name;
    text.textContent = value;
    return [term, text];
  }));
}

// ---- the tooltip ----

// What a pixel shows that has many rows.
function crowdPairs(lane, x) {
  const t0 = timeAt(x), t1 = timeAt(x + 1);
  const n = lane.last(t1) - lane.first(t0);
  if (n < 3)
    return [];
  const sums = lane.sumsBetween(t0, t1), pairs = [["in this pixel", `${countText(n)} intervals`]];
  const share = (c) => shareText(sums[c] / (t1 - t0));
  if (lane.classes === STATE_CLASSES)
    pairs.push(["", `running ${share(RUNNING)}, runnable ${share(RUNNABLE)}, blocked ${share(BLOCKED)}`]);
  else
    pairs.push(["", `${share(1)} of its time; the longest is shown`]);
  return pairs;
}

function showTip(clientX, clientY) {
  const tip = byId("tip"), { hover } = view;
  if (!hover || hover.index < 0) {
    tip.hidden = true;
    return;
  }
  const said = describe(hover);
  placeTip(said.title, [...said.pairs, ...(hover.lane ? crowdPairs(hover.lane, hover.x) : [])], clientX, clientY);
}

// Beside the pointer.
function placeTip(text, pairs, clientX, clientY) {
  const tip = byId("tip"), title = document.createElement("strong"), list = document.createElement("dl");
  title.textContent = text;
  fillPairs(list, pairs);
  tip.replaceChildren(title, list);
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const x = clientX + 16 + width > innerWidth ? clientX - 12 - width : clientX + 16;
  const y = clientY + 18 + height > innerHeight ? clientY - 10 - height : clientY + 18;
  tip.style.transform = `translate(${Math.max(4, Math.round(x))}px, ${Math.max(4, Math.round(y))}px)`;
}
