// SPDX-License-Identifier: Apache-2.0
//
// usage: node duckdb_query.mjs DIR FILE.sql NAME=VALUE...
//
// Runs a statement with DuckDB (npm, in DIR), after setting the variables. Prints the rows as JSON.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [directory, file, ...variables] = process.argv.slice(2);
const { DuckDBInstance } = await import(pathToFileURL(`${directory}/node_modules/@duckdb/node-api/lib/index.js`));
const connection = await (await DuckDBInstance.create(":memory:")).connect();
for (const v of variables) {
  const at = v.indexOf("=");
  await connection.run(`SET VARIABLE ${v.slice(0, at)} = '${v.slice(at + 1)}'`);
}
const result = await connection.runAndReadAll(readFileSync(file, "utf8"));
console.log(JSON.stringify(result.getRowObjectsJson()));
