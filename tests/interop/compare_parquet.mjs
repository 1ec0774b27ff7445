// SPDX-License-Identifier: Apache-2.0
//
// usage: compare_parquet.mjs HYPARQUET PARQUET CSV
//
// Reads each file of the directory PARQUET by hyparquet, which is installed in the directory HYPARQUET, and compares every cell with
// the file of the same table in the directory CSV; both are of sonda export. Speaks TAP. The last line has the least and greatest
// real_ns of all events of the scheduler, and the sum of the remainders by 1,000,003.
import fs from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [, , directory, parquet, csv] = process.argv;
const find = createRequire(`${directory}/`);
const { asyncBufferFromFile, parquetReadObjects, parquetMetadataAsync } = await import(pathToFileURL(find.resolve("hyparquet")));
const { compressors } = await import(pathToFileURL(find.resolve("hyparquet-compressors")));

function* linesOf(text) {
  let cells = [], cell = "", quoted = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (quoted) {
      if (c !== '"')
        cell += c;
      else if (text[i + 1] === '"')
        cell += text[++i];
      else
        quoted = false;
    } else if (c === '"') {
      quoted = true;
    } else if (c === "," || c === "\n") {
      cells.push(cell);
      cell = "";
      if (c === "\n") {
        yield cells;
        cells = [];
      }
    } else if (c !== "\r") {
      cell += c;
    }
  }
}

// In CSV null is empty, and so is an empty text; a number has 15 digits.
function isEqual(value, text) {
  if (value === null || value === undefined)
    return text === "";
  if (typeof value === "number")
    return text !== "" && (Number(text) === value || Math.abs(Number(text) - value) <= 1e-14 * Math.abs(value));
  return String(value) === text;
}

let n = 0, bad = 0;

function verdict(name, wrong) {
  n++;
  bad |= wrong.length > 0;
  console.log(`${wrong.length ? "not ok" : "ok"} ${n} - ${name}`);
  wrong.slice(0, 5).forEach((line) => console.log(`#   ${line}`));
}

async function compare(table) {
  const file = await asyncBufferFromFile(`${parquet}/${table}.parquet`);
  const metadata = await parquetMetadataAsync(file), rows = Number(metadata.num_rows);
  const list = linesOf(fs.readFileSync(`${csv}/${table}.csv`, "utf8"));
  const names = list.next().value, wrong = [];
  const objects = await parquetReadObjects({ file, metadata, compressors });
  let at = 0;
  for (const cells of list) {
    const row = objects[at++] || {};
    names.forEach((name, i) => {
      if (!isEqual(row[name], cells[i]) && wrong.length < 5)
        wrong.push(`row ${at}, ${name}: ${row[name]} in Parquet, ${cells[i]} in CSV`);
    });
  }
  if (at !== objects.length || rows !== at)
    wrong.push(`${objects.length} rows in Parquet, ${rows} in its metadata, ${at} in CSV`);
  if (wrong.length)
    verdict(`${table}: ${at} rows are those of the CSV file`, wrong);
  return at;
}

const tables = fs.readdirSync(csv).map((name) => name.replace(".csv", "")).sort();
const files = fs.readdirSync(parquet).map((name) => name.replace(".parquet", "")).sort();
verdict("each table has a file", String(tables) === String(files) ? [] : [`${tables}`, `${files}`]);
let rows = 0;
for (const table of tables)
  rows += await compare(table);
verdict(`${rows} rows of ${tables.length} tables are those of CSV`, rows > 0 && !bad ? [] : ["they differ"]);

const file = await asyncBufferFromFile(`${parquet}/sched.parquet`);
const real = (await parquetReadObjects({ file, compressors })).map((row) => row.real_ns ?? 0n);
const sum = real.reduce((sum, ns) => sum + (ns % 1000003n), 0n);
console.log(`# real_ns ${real.reduce((a, b) => (a < b ? a : b), real[0])} ${real.reduce((a, b) => (a > b ? a : b), 0n)} ${sum}`);
process.exit(bad);
