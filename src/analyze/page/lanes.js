// SPDX-License-Identifier: Apache-2.0
// Intervals of one lane, in time order and without overlaps, and samples of one counter. What a frame asks of them costs
// as much as the logarithm of their number: sums of durations are kept for every block of rows, and the longest row of
// each block, of each two blocks, of each four.

const SUM_BLOCK = 32, LONGEST_BLOCK = 16;

// What drawing has cost: rows that were looked at.
const work = { steps: 0 };

// The first index from `low` on whose value is at least v.
function lowerBound(values, v, low, high) {
  while (low < high) {
    const middle = (low + high) >>> 1;
    work.steps++;
    if (values[middle] < v)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// The same, for an index that is not far behind `low`.
function lowerBoundNear(values, v, low, high) {
  let stride = 1;
  while (low + stride < high && values[low + stride] < v) {
    low += stride;
    stride *= 2;
    work.steps++;
  }
  return lowerBound(values, v, low, Math.min(low + stride, high));
}

class Lane {
  // start, end, key: typed arrays of n rows. classOf: the class of a key, 0 to classes, or NONE for what does not count.
  // Sums are kept of the classes from 1 on.
  constructor(start, end, key, n, classOf, classes) {
    Object.assign(this, { start, end, key, n, classOf, classes, sums: null, longest: null });
  }

  // The first row that reaches behind t or begins at it.
  first(t) {
    const i = lowerBound(this.start, t, 0, this.n);
    return i > 0 && this.end[i - 1] > t ? i - 1 : i;
  }

  // Behind the last row that begins before t.
  last(t) {
    return lowerBound(this.start, t, 0, this.n);
  }

  // The row at a time, or -1.
  at(t) {
    const i = lowerBound(this.start, t, 0, this.n);
    if (i < this.n && this.start[i] === t)
      return i;
    return i > 0 && this.end[i - 1] > t ? i - 1 : -1;
  }

  prepare() {
    const { start, end, key, n, classes, classOf } = this;
    const blocks = Math.ceil(n / SUM_BLOCK) + 1;
    const sums = this.sums = new Float64Array(blocks * classes);
    const total = new Float64Array(classes + 1);
    const first = new Uint32Array(Math.ceil(n / LONGEST_BLOCK));
    let best = -1;
    for (let i = 0; i < n; i++) {
      const kind = classOf(key[i]), length = end[i] - start[i];
      if (i % SUM_BLOCK === 0)
        for (let c = 1; c <= classes; c++)
          sums[i / SUM_BLOCK * classes + c - 1] = total[c];
      if (i % LONGEST_BLOCK === 0)
        best = -1;
      if (kind > 0) {
        total[kind] += length;
        if (length > best || best < 0) {
          best = length;
          first[i / LONGEST_BLOCK | 0] = i + 1; // 0: nothing that counts
        }
      }
    }
    for (let c = 1; c <= classes; c++)
      sums[(blocks - 1) * classes + c - 1] = total[c];
    this.longest = [first];
    for (let level = first; level.length > 1;) {
      const next = new Uint32Array(Math.ceil(level.length / 2));
      for (let i = 0; i < next.length; i++)
        next[i] = this.longer(level[2 * i], level[2 * i + 1] || 0);
      this.longest.push(level = next);
    }
  }

  // Of two rows +1 (0: none).
  longer(a, b) {
    if (!a || !b)
      return a || b;
    return this.end[b - 1] - this.start[b - 1] > this.end[a - 1] - this.start[a - 1] ? b : a;
  }

  // The longest of the rows i to j that count, or -1.
  longestOf(i, j) {
    let best = 0;
    const take = (row) => {
      work.steps++;
      if (this.classOf(this.key[row]) > 0)
        best = this.longer(best, row + 1);
    };
    while (i < j && i % LONGEST_BLOCK)
      take(i++);
    while (j > i && j % LONGEST_BLOCK)
      take(--j);
    let low = i / LONGEST_BLOCK, high = j / LONGEST_BLOCK;
    for (let level = 0; low < high; level++) {
      const rows = this.longest[level];
      work.steps += 2;
      if (low & 1)
        best = this.longer(best, rows[low++]);
      if (high & 1)
        best = this.longer(best, rows[--high]);
      low >>= 1;
      high >>= 1;
    }
    return best - 1;
  }

  // Adds, for each class, the time before t to sums[class] times sign. next: the first row that does not begin before t.
  addBefore(t, sums, sign, next = lowerBound(this.start, t, 0, this.n)) {
    const { start, end, key, classes, classOf } = this;
    const block = next / SUM_BLOCK | 0;
    for (let c = 1; c <= classes; c++)
      sums[c] += sign * this.sums[block * classes + c - 1];
    for (let i = block * SUM_BLOCK; i < next; i++) {
      const kind = classOf(key[i]);
      work.steps++;
      if (kind > 0)
        sums[kind] += sign * (Math.min(end[i], t) - start[i]);
    }
    // The row at t may be the last one of the blocks before, which are whole in the sums.
    if (next > 0 && next === block * SUM_BLOCK && end[next - 1] > t) {
      const kind = classOf(key[next - 1]);
      if (kind > 0)
        sums[kind] -= sign * (end[next - 1] - t);
    }
  }

  // The time of each class between two times, as an array by class.
  sumsBetween(from, to) {
    const sums = new Float64Array(this.classes + 1);
    this.addBefore(to, sums, 1);
    this.addBefore(from, sums, -1);
    return sums;
  }
}

// Samples of a counter, with the extremes of blocks.
class Samples {
  constructor(time, value) {
    Object.assign(this, { time, value, n: time.length, low: null, high: null });
  }

  prepare() {
    let low = this.value, high = this.value;
    this.low = [low];
    this.high = [high];
    while (low.length > 1) {
      const n = Math.ceil(low.length / 4);
      const nextLow = new Float64Array(n), nextHigh = new Float64Array(n);
      for (let i = 0; i < n; i++) {
        let least = Infinity, most = -Infinity;
        for (let j = 4 * i; j < 4 * i + 4 && j < low.length; j++) {
          least = Math.min(least, low[j]);
          most = Math.max(most, high[j]);
        }
        nextLow[i] = least;
        nextHigh[i] = most;
      }
      this.low.push(low = nextLow);
      this.high.push(high = nextHigh);
    }
  }

  // The extremes of the samples i to j, as [least, most].
  extremes(i, j) {
    let least = Infinity, most = -Infinity;
    const take = (level, at) => {
      work.steps++;
      least = Math.min(least, this.low[level][at]);
      most = Math.max(most, this.high[level][at]);
    };
    for (let level = 0; i < j; level++) {
      while (i < j && i % 4)
        take(level, i++);
      while (j > i && j % 4)
        take(level, --j);
      i /= 4;
      j /= 4;
    }
    return [least, most];
  }

  // The sample that holds at t: the last one at or before it, or -1.
  at(t) {
    const i = lowerBound(this.time, t, 0, this.n);
    return i < this.n && this.time[i] === t ? i : i - 1;
  }
}
