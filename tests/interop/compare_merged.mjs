// SPDX-License-Identifier: Apache-2.0
//
// usage: node compare_merged.mjs DIR STORE DAY
//
// Are the rows of the merged files those of the small files? By DuckDB (npm, in DIR): EXCEPT ALL, both ways.
import { existsSync, readdirSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [directory, store, day] = process.argv.slice(2);
const { DuckDBInstance } = await import(pathToFileURL(`${directory}/node_modules/@duckdb/node-api/lib/index.js`));
const connection = await (await DuckDBInstance.create(":memory:")).connect();
const rows = async (sql) => (await connection.runAndReadAll(sql)).getRowsJson();
let bad = 0;

for (const table of readdirSync(`${store}/v1`)) {
  if (table === "manifests" || table === "traces" || !existsSync(`${store}/v1/${table}/date=${day}`)) continue;
  const [small, merged] = ["", "merged/"].map(
    (at) => `read_parquet('${store}/${at}v1/${table}/date=${day}/*/*.parquet', hive_partitioning = true, union_by_name = true)`,
  );
  const columns = (await rows(`DESCRIBE SELECT * FROM ${small}`)).map((r) => `"${r[0]}"`).join(", ");
  const [[n, m, left, right]] = await rows(`SELECT (SELECT count(*) FROM ${small}), (SELECT count(*) FROM ${merged}),
    (SELECT count(*) FROM (SELECT ${columns} FROM ${small} EXCEPT ALL SELECT ${columns} FROM ${merged})),
    (SELECT count(*) FROM (SELECT ${columns} FROM ${merged} EXCEPT ALL SELECT ${columns} FROM ${small}))`);
  const good = n === m && Number(n) > 0 && Number(left) === 0 && Number(right) === 0;
  console.log(`${good ? "ok" : "not ok"} ${table}: ${n} rows, ${m} merged, ${left} lost, ${right} new`);
  bad += !good;
}
process.exit(bad ? 1 : 0);
