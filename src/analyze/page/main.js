// SPDX-License-Identifier: Apache-2.0
// The page from its beginning.

function resize() {
  const rows = byId("rows"), height = rows.clientHeight;
  byId("sheet").style.height = `${height}px`;
  byId("spacer").style.height = `${Math.max(tree.height - height, 0)}px`;
  byId("timeline").style.setProperty("--scrollbar", `${rows.offsetWidth - rows.clientWidth}px`);
  drawSoon(true);
}

function fillHelp() {
  byId("help-rows").replaceChildren(...HELP.map(([keys, text]) => {
    const row = document.createElement("tr"), name = document.createElement("th"), cell = row.insertCell();
    name.scope = "row";
    name.textContent = keys;
    cell.textContent = text;
    row.prepend(name);
    return row;
  }));
}

function fillLegend() {
  byId("legend").replaceChildren(...["running", "runnable", "blocked"].map((name) => {
    const item = document.createElement("span"), mark = document.createElement("i");
    mark.className = name;
    item.append(mark, name);
    return item;
  }));
}

function fillHead() {
  const { facts } = model, title = model.strings[facts.title] || "trace";
  document.title = `${title} – sonda`;
  byId("title").textContent = title;
  byId("summary").textContent = `${durationText(view.most - view.least)}, ${model.cpus.length} CPUs, `
    + `${countText(model.threads.filter((t) => t.states && !t.idle).length)} threads, `
    + `${countText(facts.runs + facts.states + facts.slices + facts.samples)} intervals and samples`;
}

async function begin() {
  const progress = byId("progress");
  if (typeof DecompressionStream === "undefined") {
    progress.textContent = "This browser is too old for the page: it needs DecompressionStream (Chromium 80, Firefox 113, Safari 16.4).";
    return;
  }
  try {
    await breathe();
    await readModel((text) => {
      progress.textContent = `Reading the trace: ${text}.`;
    });
  } catch (error) {
    progress.textContent = `The data of this page cannot be read: ${error.message}. Was the file modified or truncated?`;
    return;
  }
  const { facts } = model;
  view.least = Math.max(facts.from, 0);
  view.most = Math.max(Math.min(facts.to, facts.end), view.least + LEAST_SPAN);
  view.from = view.least;
  view.to = view.most;
  progress.remove();
  byId("main").hidden = false;
  readColours();
  buildRows();
  fillHead();
  fillHelp();
  fillLegend();
  buildTabs();
  listen();
  resize();
  showTab("threads");
  fillTablesSoon();
  byId("rows").focus({ preventScroll: true });
}

// For tests, the page of sonda diff, and curious people.
window.sonda = {
  model, view, frame, tree, colours, showWindow, xOf, select, arrowsOf, stacks, flame, setRange, clearRange, drawSoon, everyRow,
  unfoldTo, focusRow,
};
window.sonda.ready = begin();
