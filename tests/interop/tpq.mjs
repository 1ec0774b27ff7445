#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
//
// usage: tpq.mjs TRACE SQL... [--next TRACE SQL...]...
//        tpq.mjs --serve
//
// Loads a trace into Perfetto's trace_processor (the WebAssembly build that tests/interop/peers.sh fetched; its directory
// in TP_ASSETS) and prints the rows of each statement as one line of JSON. With --serve it answers one request after the
// other, as its start takes longer than most statements: a line of stdin is words in base64, TRACE SQL..., the answer is
// what it prints otherwise and a line "end", or "error" with a reason. A trace that has not changed is not loaded again.
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import v8 from 'node:v8';
import vm from 'node:vm';
import { pathToFileURL } from 'node:url';

const assets = process.env.TP_ASSETS;
const serves = process.argv[2] === '--serve';
const traces = [[]];
for (const word of process.argv.slice(2))
  if (word === '--next') traces.push([]);
  else traces.at(-1).push(word);
if (!assets || traces.some((words) => !words.length)) {
  console.error('usage: TP_ASSETS=DIR tpq.mjs --serve | TRACE SQL... [--next TRACE SQL...]...');
  process.exit(2);
}

// Optimising the module takes longer than all that a test asks of it.
v8.setFlagsFromString('--liftoff-only');

// The module expects a web worker around it.
globalThis.self = globalThis;
globalThis.WorkerGlobalScope = function () {};
globalThis.location = { href: pathToFileURL(assets).href + '/' };
globalThis.wasmBytes = new Uint8Array(fs.readFileSync(path.join(assets, 'trace_processor.wasm')));

const { EngineBase } = await import(pathToFileURL(path.join(assets, 'engine.mjs')).href);

// 32-bit memory, bytes instead of a download, and the bridge within reach.
let glue = fs.readFileSync(path.join(assets, 'engine_bundle.node.js'), 'utf8');
const patches = [
  ['this.useMemory64 = hasMemory64Support();', 'this.useMemory64 = false;'],
  ['locateFile: (s) => s,', 'locateFile: (s) => s, wasmBinary: globalThis.wasmBytes,'],
  ['const wasmBridge = new wasm_bridge_1.WasmBridge();',
    'const wasmBridge = new wasm_bridge_1.WasmBridge(); globalThis.bridge = wasmBridge;'],
  ['const deferredRuntimeInitialized = (0, deferred_1.defer)();',
    'const deferredRuntimeInitialized = (0, deferred_1.defer)(); globalThis.ready = deferredRuntimeInitialized;'],
];
for (const [from, to] of patches) {
  if (!glue.includes(from)) throw new Error(`trace_processor's glue has changed: no "${from}"`);
  glue = glue.replace(from, to);
}
console.log = () => {};
const warn = console.warn;
console.warn = (...args) => {
  if (!/Unexpected QueryResult/.test(JSON.stringify(args[0] ?? ''))) warn(...args);
};
vm.runInThisContext(glue);

class Engine extends EngineBase {
  mode = 'WASM';
  id = 'tpq';
  constructor(port) {
    super();
    this.port = port;
    port.onmessage = (m) => {
      if (m.data instanceof Uint8Array) this.onRpcResponseBytes(m.data);
    };
  }
  rpcSendRequestBytes(data) {
    this.port.postMessage(data);
  }
}

const channel = new MessageChannel();
globalThis.bridge.initialize(channel.port1);
const engine = new Engine(channel.port2);
// What is sent before the module is up is lost.
await globalThis.ready;

const piece = 32 << 20;
let loaded = ''; // the trace that is loaded: its name, time and size

async function load(trace) {
  const { mtimeMs, size, ino } = fs.statSync(trace);
  const wanted = JSON.stringify([trace, mtimeMs, size, ino]);
  if (wanted === loaded) return;
  if (loaded)
    await engine.resetTraceProcessor({
      cropTrackEvents: false,
      ingestFtraceInRawTable: true,
      analyzeTraceProtoContent: false,
      ftraceDropUntilAllCpusValid: true,
    });
  loaded = 'a part';
  const bytes = fs.readFileSync(trace);
  for (let at = 0; at < bytes.length; at += piece)
    await engine.parse(new Uint8Array(bytes.subarray(at, at + piece)));
  await engine.notifyEof();
  loaded = wanted;
}

async function answer([trace, ...statements]) {
  await load(trace);
  for (const sql of statements) {
    const result = await engine.query(sql);
    const columns = result.columns();
    const rows = [];
    for (const it = result.iter({}); it.valid(); it.next()) {
      const row = {};
      for (const c of columns) {
        const v = it.get(c);
        row[c] = typeof v === 'bigint' ? Number(v) : v;
      }
      rows.push(row);
    }
    fs.writeSync(1, JSON.stringify(rows) + '\n');
  }
}

if (serves) {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    try {
      await answer(line.split(' ').map((word) => Buffer.from(word, 'base64').toString().replace(/\n$/, '')));
      fs.writeSync(1, 'end\n');
    } catch (e) {
      fs.writeSync(1, `error ${String(e.message ?? e).replace(/\n/g, ' ')}\n`);
    }
  }
} else {
  for (const words of traces) await answer(words);
}
process.exit(0);
