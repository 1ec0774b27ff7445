// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them. Times are ns.

const UNITS = [["ns", 1], ["µs", 1e3], ["ms", 1e6], ["s", 1e9]];

// Three digits that count, and the unit: 1.23 ms.
function durationText(ns) {
  if (!(ns > 0))
    return ns === 0 ? "0 ns" : "";
  let i = 3;
  while (i > 0 && ns < UNITS[i][1] * 0.9995)
    i--;
  const v = ns / UNITS[i][1];
  const digits = i === 0 || v >= 99.95 ? 0 : v >= 9.995 ? 1 : 2;
  return `${grouped(v.toFixed(digits))} ${UNITS[i][0]}`;
}

// A time since the trace's start, in seconds with as many digits as a window of this length needs.
function timeText(ns, span) {
  const digits = span === undefined ? 6 : Math.min(9, Math.max(0, Math.ceil(-Math.log10(span / 1e9)) + 2));
  return `${grouped((ns / 1e9).toFixed(digits))} s`;
}

// Exact: nanoseconds behind the seconds.
function exactTimeText(ns) {
  const seconds = Math.floor(ns / 1e9);
  const rest = String(Math.round(ns - seconds * 1e9)).padStart(9, "0");
  return `${grouped(String(seconds))}.${rest} s`;
}

function grouped(text) {
  const [whole, fraction] = text.split(".");
  const with_commas = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return fraction === undefined ? with_commas : `${with_commas}.${fraction}`;
}

function countText(n) {
  return grouped(String(n));
}

function shareText(share) {
  const percent = share * 100;
  return `${percent > 0 && percent < 0.95 ? percent.toFixed(1) : percent.toFixed(percent < 9.95 ? 1 : 0)} %`;
}

const SI = [["", 1], ["k", 1e3], ["M", 1e6], ["G", 1e9], ["T", 1e12], ["P", 1e15]];
const BINARY = [["B", 1], ["KiB", 1024], ["MiB", 1048576], ["GiB", 1073741824], ["TiB", 1099511627776]];

// A value of a counter.
function valueText(v, unit) {
  if (v === undefined || v === null)
    return "";
  if (!Number.isFinite(v))
    return String(v);
  if (unit === "ns")
    return v < 0 ? `-${durationText(-v)}` : durationText(v);
  const bytes = unit === "bytes";
  if (unit === "count")
    unit = "";
  const steps = bytes ? BINARY : SI;
  const size = Math.abs(v);
  if (size >= 1e18 || (size > 0 && size < 1e-3))
    return `${v.toExponential(3)}${unit ? ` ${unit}` : ""}`;
  let i = steps.length - 1;
  while (i > 0 && size < steps[i][1] * (bytes ? 1 : 10))
    i--;
  const scaled = v / steps[i][1];
  const text = Number.isInteger(scaled) ? String(scaled) : scaled.toPrecision(4).replace(/\.?0+$/, "");
  const number = grouped(text);
  return bytes ? `${number} ${steps[i][0]}` : `${number}${steps[i][0] ? ` ${steps[i][0]}` : ""}${unit ? ` ${unit}` : ""}`;
}

// The least step of 1, 2 or 5 times a power of ten that is at least this much.
function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  for (const factor of [1, 2, 5, 10])
    if (factor * power >= least * 0.999999)
      return factor * power;
  return 10 * power;
}
