// SPDX-License-Identifier: Apache-2.0
//
// usage: span_join.mjs SEED      prints queries, one a line: span joins of random intervals, after what makes them
let seed = +process.argv[2];
const random = (n) => {
  seed = (seed * 1103515245 + 12345) % 2147483648;
  return Math.floor(seed / 65536) % n;
};

// Intervals of each partition that do not overlap, some of length 0 or without an end, in any order.
function intervals(partitions) {
  const rows = [];
  for (const p of partitions)
    for (let ts = random(6); ts < 60;) {
      const kind = random(8), dur = kind === 0 ? 0 : kind === 1 && ts > 40 ? -1 : 1 + random(12);
      rows.push([ts, dur, p, `'v${rows.length}'`]);
      ts += dur > 0 ? dur + (random(3) ? 0 : random(9)) : 1 + random(5);
    }
  for (let i = rows.length - 1; i > 0; i--) {
    const j = random(i + 1);
    [rows[i], rows[j]] = [rows[j], rows[i]];
  }
  return rows;
}

let before = '';
const make = (statement) => { before += `${statement}; `; };
const ask = (query) => {
  console.log(before + query);
  before = '';
};

const some = () => [1, 2, 3, 4, 5].filter(() => random(3));
for (const [table, column, partitions] of [['a', 'x', [...some(), 6]], ['b', 'y', [...some(), 7]], ['c', 'z', [0]], ['d', 'w', [0]]])
  make(`CREATE TABLE ${table} AS SELECT column1 AS ts, column2 AS dur, column3 AS p${table}, column4 AS ${column} ` +
    `FROM (VALUES ${intervals(partitions).map((r) => `(${r})`).join()})`);
for (const table of ['a', 'b'])
  make(`CREATE VIEW ${table}p AS SELECT ts, dur, p${table} AS p, ${table === 'a' ? 'x' : 'y'} FROM ${table}`);
for (const table of ['c', 'd'])
  make(`CREATE VIEW ${table}p AS SELECT ts, dur, ${table === 'c' ? 'z' : 'w'} FROM ${table}`);
make('CREATE VIEW points AS SELECT ts, w AS name FROM d');
let n = 0;
for (const kind of ['SPAN_JOIN', 'SPAN_LEFT_JOIN', 'SPAN_OUTER_JOIN'])
  for (const tables of ['ap PARTITIONED p, bp PARTITIONED p', 'ap PARTITIONED p, cp', 'cp, ap PARTITIONED p', 'cp, dp', 'cp, points']) {
    make(`CREATE VIRTUAL TABLE t${++n} USING ${kind}(${tables})`);
    ask(`SELECT '${kind}(${tables})' AS kind, * FROM t${n}`);
    if (tables.includes('PARTITIONED'))
      ask(`SELECT '${kind}(${tables})' AS kind, * FROM t${n} WHERE p = 2`);
  }
