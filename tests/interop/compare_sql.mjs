// SPDX-License-Identifier: Apache-2.0
//
// usage: compare_sql.mjs THEIRS OURS      two files with a line of JSON rows for each statement
//
// Compares row by row. 1 and 1.0 are equal. Prints the first differences, most of them of the first statement that has any; fails if there are any, or no rows at all.
import fs from 'node:fs';

const [theirs, ours] = process.argv.slice(2).map((f) => fs.readFileSync(f, 'utf8').trim().split('\n').map((l) => JSON.parse(l)));
let bad = theirs.length !== ours.length ? 1 : 0, rows = 0;
theirs.forEach((expected, statement) => {
  const got = ours[statement] ?? [];
  rows += expected.length;
  if (expected.length !== got.length) {
    console.log(`statement ${statement}: ${expected.length} rows, ours ${got.length}`);
    bad++;
  }
  let different = false;
  for (let i = 0, shown = 0; i < Math.min(expected.length, got.length) && shown < (bad ? 1 : 5); i++)
    if (JSON.stringify(expected[i]) !== JSON.stringify(got[i])) {
      console.log(`statement ${statement}, row ${i}:\n  ${JSON.stringify(expected[i])}\n  ${JSON.stringify(got[i])}`);
      shown++;
      different = true;
    }
  if (different) bad++;
});
console.log(`${rows} rows`);
process.exit(bad || !rows ? 1 : 0);
