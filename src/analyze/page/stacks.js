// SPDX-License-Identifier: Apache-2.0
// Call stacks: functions, call sites, the samples of each profile, and trees of functions with the weight of each.

// A call site is a function called from its parent; a sample names the innermost one. Functions of one name and file are one.
const stacks = { functions: [], parent: null, functionOf: null, profiles: [] };

const NO_SITE = -1;

async function readStacks() {
  const f = await columnsNamed("function", ["name", "file", "kind"]);
  while (!f.name.ended) {
    const text = model.strings[f.name.number()] || "(unknown)", path = model.strings[f.file.number()] || "";
    stacks.functions.push({ text, file: path.slice(path.lastIndexOf("/") + 1), kernel: f.kind.number() > 0 });
  }
  const parents = (await takeColumn("site.parent")).rest(), functions = (await takeColumn("site.function")).rest();
  stacks.parent = Int32Array.from(parents, (parent, i) => parent - 1 < i ? parent - 1 : NO_SITE);
  stacks.functionOf = Uint32Array.from(functions);
  await readProfiles();
}

async function readProfiles() {
  const p = await columnsNamed("profile", ["name", "unit", "edge", "samples"]);
  // edge: 1 and 2 for the stacks at the begin and the end of slices, else 0.
  const s = await columnsNamed("stack", ["time", "thread", "site", "weight"]);
  while (!p.name.ended) {
    const name = model.strings[p.name.number()] || "samples", unit = model.strings[p.unit.number()] || "";
    const edge = p.edge.number(), n = p.samples.number();
    const profile = {
      name, unit, edge, n, time: new Float64Array(n), thread: new Int32Array(n), site: new Uint32Array(n), weight: new Float64Array(n),
    };
    for (let i = 0, before = 0; i < n; i++) {
      profile.time[i] = before += s.time.signed();
      profile.thread[i] = s.thread.number() - 1;
      profile.site[i] = s.site.number();
      profile.weight[i] = s.weight.number();
    }
    stacks.profiles.push(profile);
    await breathe();
  }
}

const WAIT_NEAR = 50000; // ns between a thread's switch and the begin of its wait in the trace

const isWaits = ({ name, edge }) => edge > 0 && name.startsWith("waits");

// The call stacks that a slice has at its begin and its end, as [profile, call site].
function stacksOfSlice(track, start) {
  const found = [], thread = track.thread ? track.thread.id : UNKNOWN;
  stacks.profiles.forEach((profile, number) => {
    const { edge, time, n } = profile, ofTrack = edge > 0 && isWaits(profile) === (track.name === "waits");
    for (let i = ofTrack ? lowerBound(time, start, 0, n) : n; i < n && time[i] === start; i++)
      if (profile.thread[i] === thread)
        found.push([number, profile.site[i]]);
  });
  return found;
}

// The call stacks of the wait that begins with a sleep of a thread, as [profile, call site].
function stacksOfWait(thread, start) {
  const found = [];
  stacks.profiles.forEach((profile, number) => {
    const { time, n } = profile;
    for (let i = isWaits(profile) ? lowerBound(time, start - WAIT_NEAR, 0, n) : n; i < n && time[i] <= start + WAIT_NEAR; i++)
      if (profile.thread[i] === thread.id)
        found.push([number, profile.site[i]]);
  });
  return found;
}

// ---- what a selection weighs ----

// The weight of each call site as the innermost one, of samples in the range and of the thread (null: of all threads).
function weighSites({ time, thread, site, weight, n }, { from, to }, only) {
  const sums = new Float64Array(stacks.parent.length);
  let samples = 0;
  for (let i = lowerBound(time, from, 0, n), last = lowerBound(time, to, 0, n); i < last; i++)
    if (!only || thread[i] === only.id) {
      sums[site[i]] += weight[i];
      samples++;
    }
  return { sums, samples };
}

// For each function whether its text matches.
function matchFunctions(pattern) {
  return stacks.functions.map(({ text }) => pattern.test(text));
}

// For each call site whether it or one of its callers matches.
function matchSites(matches) {
  const { parent, functionOf } = stacks, found = new Uint8Array(parent.length);
  for (let i = 0; i < found.length; i++)
    found[i] = matches[functionOf[i]] || (parent[i] !== NO_SITE && found[parent[i]]) ? 1 : 0;
  return found;
}

// ---- trees ----

// Nodes as columns; node 0 is the root, and a parent has a lower number than its children.
class StackTree {
  constructor() {
    this.function = [NO_SITE];
    this.parent = [NO_SITE];
    this.self = [0];
    this.total = [0];
    this.children = [new Map()];
  }

  child(node, number) {
    let child = this.children[node].get(number);
    if (child === undefined) {
      child = this.function.length;
      this.children[node].set(number, child);
      this.function.push(number);
      this.parent.push(node);
      this.self.push(0);
      this.total.push(0);
      this.children.push(new Map());
    }
    return child;
  }

  add(path, weight) {
    let node = 0;
    this.total[0] += weight;
    for (const number of path) {
      node = this.child(node, number);
      this.total[node] += weight;
    }
    this.self[node] += weight;
  }
}

// The functions of a stack, the innermost one first.
function pathOf(site) {
  const path = [];
  for (; site !== NO_SITE; site = stacks.parent[site])
    path.push(stacks.functionOf[site]);
  return path;
}

// The trees of a view: one from the root to callees, and for a pivot one from it to its callers. bottom-up begins with the
// innermost function and goes on to its callers.
function buildTrees(sums, kind, pivot) {
  const down = new StackTree(), up = new StackTree();
  for (let site = 0; site < sums.length; site++) {
    if (!sums[site])
      continue;
    const path = pathOf(site);
    if (kind === "bottom-up") {
      down.add(path, sums[site]);
      continue;
    }
    path.reverse();
    if (kind === "top-down") {
      down.add(path, sums[site]);
      continue;
    }
    // The outermost call of a function that calls itself, so that its weight counts once.
    const at = path.indexOf(pivot);
    if (at >= 0) {
      down.add(path.slice(at), sums[site]);
      up.add(path.slice(0, at).reverse(), sums[site]);
    }
  }
  return { down, up };
}
