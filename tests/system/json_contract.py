#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The JSON of sonda as a contract: share/sonda/json-schema.json and outputs of the programs.

json_contract.py check SCHEMA NAME=FILE...  prints what the outputs have that the schema lacks or contradicts, and what they lack
json_contract.py write SCHEMA NAME=FILE...  adds what the outputs have to the schema; never removes or changes a key
json_contract.py lines SCHEMA               prints a line for each key with its types: the contract of a release

NAME is a definition of the schema: report, reports, machines, findings, diff, info, list, describe, doctor.
"""
import json
import os
import sys

HEAD = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "JSON of sonda: report --json=keys, report findings, diff, info, list, describe, doctor (docs/reference/json.md)",
}
# Objects whose keys are names of the machine or the trace.
MAPS = {"info.event_groups", "info.samples"}
# Always fractions, even if a value is whole.
FRACTIONS = ("_pct", "_value", "_s", "share")
WIDTH = 128


def type_of(value):
    if value is None:
        return "null"
    for kind, name in ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "array")):
        if isinstance(value, kind):
            return name
    return "object"


class Contract:
    def __init__(self, path, writes):
        self.path, self.writes, self.troubles = path, writes, []
        self.defs = json.load(open(path))["$defs"] if os.path.exists(path) else {}

    def trouble(self, path, text):
        line = f"{path}: {text}"
        if line not in self.troubles:
            self.troubles.append(line)

    def add_type(self, node, value, path):
        kind = type_of(value)
        if kind == "integer" and path.endswith(FRACTIONS):
            kind = "number"
        if "type" not in node:  # not known yet
            if self.writes and kind != "null":
                node["type"] = [kind]
            return
        types = node["type"]
        if kind in types or (kind == "integer" and "number" in types):
            return
        if not self.writes:
            self.trouble(path, f"has the type {kind}, not {' or '.join(types)}")
            return
        if kind == "number" and "integer" in types:
            types.remove("integer")
        node["type"] = sorted(types + [kind])

    def add_keys(self, node, names, path):
        """Keys of an object: all are in the schema, and all that the schema requires are here."""
        is_new = "properties" not in node
        have = node.setdefault("properties", {})
        for name in names:
            if name not in have:
                if self.writes:
                    have[name] = {}
                else:
                    self.trouble(path, f"the schema has no key {name}")
        required = node.get("required", [])
        missing = [name for name in required if name not in names]
        if missing and not self.writes:
            self.trouble(path, f"lacks {', '.join(missing)}")
        if self.writes:
            node["required"] = list(names) if is_new else [name for name in required if name in names]
        return have

    def add(self, node, value, path):
        self.add_type(node, value, path)
        if isinstance(value, list):
            items = node.setdefault("items", {})
            for one in value:
                self.add(items, one, path + "[]")
        elif isinstance(value, dict) and path == "report.tables":
            self.add_tables(value)
        elif isinstance(value, dict) and path in MAPS:
            for one in value.values():
                self.add(node.setdefault("additionalProperties", {}), one, path + ".*")
        elif isinstance(value, dict):
            have = self.add_keys(node, value, path)
            for name, one in value.items():
                self.add(have.get(name, {}), one, f"{path}.{name}")

    def add_rows(self, items, columns, rows, path):
        """Rows of a table: each has all columns, and each value may be null."""
        items.setdefault("type", ["object"])
        have = self.add_keys(items, columns, path)
        if self.writes:
            items["required"] = list(have)
        for name in columns:
            node = have.get(name, {})
            for value in {type_of(row[name]): row[name] for row in rows}.values():
                if value is not None:
                    self.add_type(node, value, f"{path}.{name}")
                if "type" in node and "null" not in node["type"]:
                    node["type"] = sorted(node["type"] + ["null"])
            if self.writes and "type" not in node and name.endswith(("_ns", "_ts", "_bytes")):
                node["type"] = ["integer", "null"]
            if self.writes and "type" not in node and name.endswith(FRACTIONS):
                node["type"] = ["null", "number"]

    def add_tables(self, tables):
        known = self.defs.setdefault("tables", {}).setdefault(self.report, {})
        for key, table in tables.items():
            if key not in known and not self.writes:
                self.trouble(f"report {self.report}", f"the schema has no table {key}")
            rows = known.setdefault(key, {"properties": {"rows": {"items": {}}}})["properties"]["rows"]["items"]
            path = f"tables.{self.report}.{key}"
            own = self.defs.setdefault("table", {})
            self.add(own, dict(table, rows=[]), "table")
            if "lacks" not in table:
                self.add_rows(rows, table["columns"], table["rows"], path)

    def add_output(self, name, value):
        if name in ("reports", "machines"):
            for one in value[name].values():
                self.add_output("machines" if "machines" in one else "findings" if one["report"] == "findings" else "report", one)
            return
        self.report = value.get("report") if isinstance(value, dict) else None
        if name == "findings":
            for one in value["findings"]:
                rows = self.defs.setdefault("evidence", {}).setdefault(one["name"], {})
                self.add_rows(rows, list(one["rows"][0]), one["rows"], f"evidence.{one['name']}")
                one["rows"] = []
        if name == "diff":
            rows = self.defs.setdefault("diff_change", {})
            for one in value["changes"]:
                self.add_rows(rows, list(one), [one], "diff_change")
            value["changes"] = []
        self.add(self.defs.setdefault(name, {}), value, name)


def all_columns(node):
    """The name and schema of each column of each table."""
    if isinstance(node, dict):
        for name, one in node.get("properties", {}).items():
            yield name, one
        for one in node.values():
            yield from all_columns(one)


def complete_types(defs):
    """A column whose values no trace here has is of the type that its name has in other tables."""
    types = {}
    for name, one in all_columns(defs["tables"]):
        if "type" in one:
            types.setdefault(name, one["type"])
    for name, one in all_columns(defs["tables"]):
        if not one and name in types:
            one["type"] = types[name]


def put(value, indent):
    """JSON text with objects on one line where they fit."""
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict) or len(line) + indent <= WIDTH or "rows" in value:
        return line
    inside = ",\n".join(f'{" " * (indent + 1)}{json.dumps(k)}: {put(v, indent + 1)}' for k, v in value.items())
    return "{\n" + inside + "\n" + " " * indent + "}"


def put_lines(path, node):
    if not ({"object", "array"} & set(node.get("type", [])) or "properties" in node or "items" in node):
        print(path, "|".join(node.get("type", ["any"])))
    for name, one in node.get("properties", {}).items():
        put_lines(f"{path}.{name}", one)
    for name in ("items", "additionalProperties"):
        if name in node:
            put_lines(path + "[]", node[name])


def main():
    what, path = sys.argv[1:3]
    contract = Contract(path, what == "write")
    if what == "lines":
        for name, node in sorted(contract.defs.items()):
            if name in ("tables", "evidence"):
                for report, tables in sorted(node.items()):
                    many = {"": tables} if name == "evidence" else tables
                    for key, table in sorted(many.items()):
                        put_lines(f"{name}.{report}.{key}".rstrip("."), table)
            else:
                put_lines(name, node)
        return 0
    for argument in sys.argv[3:]:
        name, file = argument.split("=", 1)
        with open(file) as f:
            contract.add_output(name, json.load(f))
    if what == "write":
        complete_types(contract.defs)
        defs = {name: contract.defs[name] for name in sorted(contract.defs)}
        with open(path, "w") as f:
            f.write(put(dict(HEAD, **{"$defs": defs}), 0) + "\n")
    print("\n".join(contract.troubles), end="\n" if contract.troubles else "")
    return bool(contract.troubles)


if __name__ == "__main__":
    sys.exit(main())
