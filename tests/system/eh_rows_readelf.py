#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: eh_rows_readelf.py EH_ROWS FILE

Compares the rows of a file (tests/system/eh_rows.c) with those of readelf --debug-dump=frames-interp, at every address. Of
rows whose CFA or frame pointer readelf shows as "exp" only that is compared. Prints the first differences. The last line is
the number of addresses that were compared and of those that have a rule."""
import re
import struct
import subprocess
import sys

ROW = re.compile(r"^([0-9a-f]{16}) (.*)$")
FDE = re.compile(r"FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)")
CIE = re.compile(r'^[0-9a-f]{8} .* CIE "(\S*)" cf=\d+ df=-?\d+ ra=(\d+)')
NAMES = {"rsp": "sp", "rbp": "fp", "sp": "sp", "x29": "fp"}


def saved(word):
    """The word of readelf for where a register is saved, in ours."""
    return "?" if word in ("exp", "vexp") or word[0] in "vr" else "u" if word == "s" else word


def rule(columns, words, is_signal, is_arm64):
    have = dict(zip(columns, words))
    cfa, ra, fp = have["CFA"], have.get("ra", "u"), have.get("x29" if is_arm64 else "rbp", "u")
    if is_signal:
        return "signal"
    if ra == "u" and not is_arm64:  # of arm64, this is also the return address in lr
        return "end"
    if cfa == "exp":
        return "exp"
    base, sign, offset = re.match(r"(\w+)([+-])(\d+)$", cfa).groups()
    if base not in NAMES or have.get("rsp", "u") != "u" or (ra != "c-8" and not is_arm64):
        return "no_caller"
    return f"{NAMES[base]}{sign}{offset}+0 {saved(fp)} {ra}"


def readelf_ranges(path):
    """(begin, end, rule) of each row. A function without instructions has no rows: the row of its CIE holds."""
    text = subprocess.run(["readelf", "--wide", "--debug-dump=frames-interp", path], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL).stdout.decode()  # it fails for a section that ends in zeros
    entries, cies = [], {}
    is_arm64 = struct.unpack_from("<H", open(path, "rb").read(20), 18)[0] == 183
    for line in text.splitlines():
        if CIE.match(line):
            entry = cies[int(line.split()[0], 16)] = {"rows": [], "is_signal": "S" in CIE.match(line).group(1)}
        elif FDE.search(line):
            begin, end = (int(n, 16) for n in FDE.search(line).groups())
            entry = {"rows": [], "begin": begin, "end": end, "cie": int(re.search(r"cie=([0-9a-f]+)", line).group(1), 16)}
            entries.append(entry)
        elif line.strip().startswith("LOC"):
            entry["columns"] = line.split()[1:]
        elif ROW.match(line):
            address, *words = re.sub(r" \(\w+\)", "", line).split()  # "r10 (r10)": in that register
            entry["rows"].append((int(address, 16), words))
    ranges = []
    for e in entries:
        cie = cies[e["cie"]]
        rows = e["rows"] or [(e["begin"], cie["rows"][0][1])]
        columns = e["columns"] if e["rows"] else cie["columns"]
        for i, (address, words) in enumerate(rows):
            behind = rows[i + 1][0] if i + 1 < len(rows) else e["end"]
            if address < behind:
                ranges.append((address, behind, rule(columns, words, cie["is_signal"], is_arm64)))
    return sorted(ranges)


def own_ranges(program, path):
    lines = subprocess.run([program, path], check=True, stdout=subprocess.PIPE).stdout.decode().splitlines()
    rows = [(int(a, 16), text) for a, text in (line.split(" ", 1) for line in lines if line[0] != "#")]
    return [(a, rows[i + 1][0] if i + 1 < len(rows) else a, text) for i, (a, text) in enumerate(rows)]


def with_gaps(ranges):
    """Ranges without holes and overlaps; equal neighbours are one."""
    out, at = [], 0
    for begin, end, text in ranges:
        if begin < at:
            sys.exit(f"{begin:x}: two functions")
        if begin > at:
            out.append([at, begin, "none"])
        out.append([begin, end, text])
        at = end
    return out + [[at, 1 << 64, "none"]]


def agrees(begin, expected, own):
    if expected == "exp":
        return own.startswith(("plt", "at_sp", "at_fp", "no_caller"))
    if " ? " in expected:  # for the frame pointer, an expression
        return re.sub(r" fp[+-]\d+ ", " ? ", own) == expected
    if own == "end":  # of arm64, readelf shows it as lr; the entry of the file need not be a function
        return expected == own or expected.endswith(" u") or (expected == "none" and entry <= begin < entry + 128)
    return own == expected


program, path = sys.argv[1:]
with open(path, "rb") as f:
    entry = int.from_bytes(f.read(32)[24:], "little")
theirs, ours = with_gaps(readelf_ranges(path)), with_gaps(own_ranges(program, path))
i = j = bad = ruled = 0
while i < len(theirs) and j < len(ours):
    begin, end = max(theirs[i][0], ours[j][0]), min(theirs[i][1], ours[j][1])
    if begin < end:
        ruled += end - begin if theirs[i][2] != "none" else 0
        if not agrees(begin, theirs[i][2], ours[j][2]):
            bad += 1
            if bad <= 10:
                print(f"{begin:x}..{end:x} readelf: {theirs[i][2]}; eh_rows: {ours[j][2]}")
    if theirs[i][1] <= ours[j][1]:
        i += 1
    else:
        j += 1
print(f"{path}: {len(theirs)} ranges of readelf, {len(ours)} of eh_rows, {ruled} addresses with a rule, {bad} differences")
sys.exit(bad > 0 or ruled == 0)
