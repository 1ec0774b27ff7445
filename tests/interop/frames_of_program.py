# SPDX-License-Identifier: Apache-2.0
"""usage: frames_of_program.py trace PROGRAM [PATH]     prints a trace as text: a sample at every fourth byte of .text
       frames_of_program.py compare PROGRAM ROWS      compares symbols (JSON of sonda sql) with eu-addr2line

PATH is what the mapping is called; default: PROGRAM. Compared are addresses in functions that have lines.
"""
import json
import re
import subprocess
import sys


def output(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, check=True, **more).stdout


def addresses(program):
    found = re.search(r"\.text\s+PROGBITS\s+(\w+) (\w+) (\w+)", output("readelf", "-WS", program))
    start, offset, size = (int(word, 16) for word in found.groups())
    return range(start, start + size, 4), start - offset


def print_trace(program, path):
    pcs, bias = addresses(program)
    build_id = re.search(r"Build ID: (\w+)", output("readelf", "-n", program)).group(1)
    escaped = "".join(f"\\x{build_id[i:i + 2]}" for i in range(0, len(build_id), 2))
    print(f"""packet {{ trusted_packet_sequence_id: 1 sequence_flags: 1 timestamp: 1000 timestamp_clock_id: 6
      trace_packet_defaults {{ perf_sample_defaults {{ timebase {{ frequency: 1 }} }} }} interned_data {{
      build_ids {{ iid: 1 str: "{escaped}" }} mapping_paths {{ iid: 1 str: "{path}" }}
      mappings {{ iid: 1 build_id: 1 path_string_ids: 1 start: 4096 end: 99999999 load_bias: {bias} }}""")
    for i, pc in enumerate(pcs, 1):
        print(f"frames {{ iid: {i} mapping_id: 1 rel_pc: {pc} }} callstacks {{ iid: {i} frame_ids: {i} }}")
    print("} }")
    for i, _ in enumerate(pcs, 1):
        print(f"packet {{ trusted_packet_sequence_id: 1 sequence_flags: 2 timestamp: {2000 + i} timestamp_clock_id: 6 "
              f"perf_sample {{ cpu: 0 pid: 10 tid: 10 callstack_iid: {i} }} }}")


def compare(program, rows):
    ours = {}
    with open(rows, encoding="utf-8") as f:
        for row in json.load(f):
            ours.setdefault(row["pc"], []).append((row["name"], f"{row['source_file']}:{row['line_number']}"))
    lines = output("eu-addr2line", "-e", program, "-f", "-i", "-C", "-a",
                   input="".join(f"0x{pc:x}\n" for pc in addresses(program)[0])).split("\n")
    theirs, pc, compared, wrong = {}, None, 0, []
    for line in lines:
        if re.fullmatch(r"0x[0-9a-f]+", line):
            pc = int(line, 16)
        elif line:
            theirs.setdefault(pc, []).append(line)
    for pc, said in theirs.items():
        # A name may be followed by "inlined at", a place by its column and a discriminator.
        places = [re.match(r"[^ ]*:\d+", place).group(0) for place in said[1::2]]
        want = list(zip([name.split(" inlined at ")[0] for name in said[::2]],
                        [re.match(r"(.*?:\d+)(:\d+)?$", place).group(1) for place in places]))
        if pc not in ours or ours[pc][0][1].startswith("None"):
            continue
        compared += 1
        if want != ours[pc]:
            wrong.append(f"{pc:x}: {want}\n  here {ours[pc]}")
    print(f"{compared} compared, {len(wrong)} differ", *wrong[:5], sep="\n")
    return compared > 50 and any(len(chain) > 2 for chain in ours.values()) and len(wrong) * 50 <= compared


if sys.argv[1] == "trace":
    print_trace(sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else sys.argv[2])
elif not compare(sys.argv[2], sys.argv[3]):
    sys.exit(1)
