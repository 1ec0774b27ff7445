# SPDX-License-Identifier: Apache-2.0
"""usage: diff_traces.py DIR       writes recordings as text protos, and what a comparison of them must say
          diff_traces.py --check JSON EXPECTED      compares the output of sonda diff --json with that

A recording lasts 2 s of one CPU. The thread app of the program app runs 100 times, each for about 8 ms in a*.txtpb and 10 ms in
b*.txtpb, and other for 4 ms in both. The rest is idle. The k-th run of app is a little longer than the one before, and each
recording has noise of its own, so that no two are equal. The recordings of a and b are of turns in time; those of c are as b, but
later than all of a. Those of d and e are as a, with 25 and 40 system calls in each run of app.
"""
import json
import math
import statistics
import sys

RUNS, PERIOD, N = 100, 20_000_000, 5


def noise(kind, number):
    return 1 + 0.02 * math.sin(hash_of(kind) * 13 + number * number * 5 + number)


def hash_of(kind):
    return {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}[kind]


def switch(ts, prev, nxt):
    names = {0: "swapper/0", 10: "app", 20: "other"}
    return (f"event {{ timestamp: {ts} pid: {prev} sched_switch {{ prev_comm: \"{names[prev]}\" prev_pid: {prev} prev_prio: 120 "
            f"prev_state: {0 if not prev else 1} next_comm: \"{names[nxt]}\" next_pid: {nxt} next_prio: 120 }} }}\n")


def syscall(ts, name, fields):
    return f"event {{ timestamp: {ts} pid: 10 {name} {{ {fields} }} }}\n"


def recording(kind, number, start, extra=""):
    """Returns the text, and the ns of app and other for each second of it."""
    events, app, other, base = [], 0, 0, 10_000_000 if kind in "bc" else 8_000_000
    for k in range(RUNS):
        at = start + k * PERIOD
        run = round((base + k * 1000) * noise(kind, number))
        rest = round(4_000_000 * noise(kind, number + 50))
        events.append(switch(at, 0, 10))
        for call in range({"d": 25, "e": 40}.get(kind, 0)):
            events += [syscall(at + 1000 + call * 100_000, "sys_enter", "id: 39"),
                       syscall(at + 21_000 + call * 100_000, "sys_exit", "id: 39 ret: 10")]
        events += [switch(at + run, 10, 20), switch(at + run + rest, 20, 0)]
        app += run
        other += rest
    end = start + RUNS * PERIOD
    events.append(switch(end, 0, 10))
    head = (f"packet {{ trusted_packet_sequence_id: 1 trace_config {{ data_sources {{ config {{ name: \"linux.ftrace\" {extra} "
            "ftrace_config { ftrace_events: \"sched/sched_switch\" } } } } }\n")
    tree = ("packet { trusted_packet_sequence_id: 1 process_tree { processes { pid: 10 ppid: 1 cmdline: \"app\" } "
            "processes { pid: 20 ppid: 1 cmdline: \"other\" } } }\n")
    text = head + tree + "packet { trusted_packet_sequence_id: 1 ftrace_events { cpu: 0\n" + "".join(events) + "} }\n"
    seconds = (end - start + 1) / 1e9
    return text, app / seconds, other / seconds


# ---- the oracle: Welch's and the paired test, with Student's t by integration

def t_density(t, df):
    return math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(df * math.pi) * (1 + t * t / df) ** (-(df + 1) / 2)


def two_sided(t, df, steps=4000):
    width = abs(t) / steps
    inner = sum((4 if i % 2 else 2) * t_density(i * width, df) for i in range(1, steps))
    return 1 - 2 * (t_density(0, df) + t_density(t, df) + inner) * width / 3


def quantile(p, df):
    low, high = 0, 100
    for _ in range(50):
        mid = (low + high) / 2
        low, high = (mid, high) if two_sided(mid, df) > p else (low, mid)
    return high


def interval(a, b, paired):
    """The interval of b / a - 1, in percent. No value is better than 0.3 %."""
    a, b, least = [math.log(v) for v in a], [math.log(v) for v in b], 0.003 ** 2
    if paired:
        error = max(statistics.variance([y - x for x, y in zip(a, b)]), 2 * least) / len(a)
        df = len(a) - 1
    else:
        va, vb = max(statistics.variance(a), least) / len(a), max(statistics.variance(b), least) / len(b)
        error, df = va + vb, (va + vb) ** 2 / (va * va / (len(a) - 1) + vb * vb / (len(b) - 1))
    middle, reach = statistics.mean(b) - statistics.mean(a), quantile(0.05, df) * math.sqrt(error)
    return [100 * math.expm1(v) for v in (middle, middle - reach, middle + reach)]


def write(directory):
    values = {}
    for number in range(N):
        for kind, start in (("a", 2 * number), ("b", 2 * number + 1), ("c", 100 + number)):
            text, *values[kind, number] = recording(kind, number, 1_000_000_000_000 + start * 10_000_000_000)
            with open(f"{directory}/{kind}{number}.txtpb", "w", encoding="ascii") as f:
                f.write(text)
    for number in range(3):
        for kind, start in (("d", 2 * number), ("e", 2 * number + 1)):
            text, _, _ = recording(kind, number, 1_000_000_000_000 + start * 10_000_000_000)
            with open(f"{directory}/{kind}{number}.txtpb", "w", encoding="ascii") as f:
                f.write(text)
    text, _, _ = recording("b", 1, 1_000_000_000_000, "stop_timeout_ms: 7 legacy_config: \"x\"")
    with open(f"{directory}/other_config.txtpb", "w", encoding="ascii") as f:
        f.write(text)
    for number in range(2):  # of two commands, each with its pid in the config
        pids = f"pids: {100 + number}"
        text, _, _ = recording("b", 1, 1_000_000_000_000)
        sources = ("data_sources { config { name: \"linux.waits\" waits_config { %s } } } data_sources { config { name: \"linux.syscalls\" "
                   "syscalls_config { %s } } } data_sources { config { name: \"linux.ebpf_counters\" ebpf_counters_config { %s } } }" % (pids, pids, pids))
        with open(f"{directory}/pids{number}.txtpb", "w", encoding="ascii") as f:
            f.write(text.replace("trace_config {", "trace_config { " + sources, 1))
    text, _, _ = recording("b", 1, 1_000_000_000_000)  # of a command, which runs for 1.5 s of 2
    events = "".join(f"event {{ timestamp: {1_000_000_000_000 + ms * 1_000_000} pid: 10 sched_process_{name} {{ {fields} }} }}\n"
                     for ms, name, fields in ((3, "exec", "pid: 10 old_pid: 10"), (1503, "exit", 'comm: "app" pid: 10 tgid: 10')))
    with open(f"{directory}/run.txtpb", "w", encoding="ascii") as f:
        f.write(text.replace("ftrace_config {", "ftrace_config { tids_to_trace: 10", 1).replace("cpu: 0\n", "cpu: 0\n" + events))
    text, _, _ = recording("b", 1, 1_000_000_000_000)
    with open(f"{directory}/lost.txtpb", "w", encoding="ascii") as f:
        f.write(text.replace("cpu: 0\n", "cpu: 0 lost_events: true\n"))
    for name, other, paired, numbers in (("ab", "b", True, range(N)), ("ac", "c", False, range(N)), ("ab4", "b", True, (0, 1, 3, 4))):
        expected = {}
        for at, program in enumerate(("app", "other")):
            a = [values["a", i][at] for i in numbers]
            b = [values[other, i][at] for i in numbers]
            expected[program] = interval(a, b, paired)
        with open(f"{directory}/{name}.json", "w", encoding="ascii") as f:
            json.dump(expected, f)


def check(got, expected):
    with open(got, encoding="ascii") as f:
        rows = json.load(f)["changes"]
    with open(expected, encoding="ascii") as f:
        wanted = json.load(f)
    for program, numbers in wanted.items():
        for level in ("program", "thread"):
            row = [r for r in rows if (r["metric"], r["level"], r["program"], r["measure"]) == ("cpu", level, program, "total")]
            assert len(row) == 1, (program, level, len(row))
            found = [row[0][k] for k in ("change_pct", "change_low_pct", "change_high_pct")]
            assert all(abs(x - y) < 0.002 for x, y in zip(found, numbers)), (program, level, found, numbers)
            assert row[0]["finding"] == (program == "app"), row[0]
    assert rows[0]["program"] == "app" and rows[0]["metric"] == "cpu", rows[0]


if sys.argv[1] == "--check":
    check(sys.argv[2], sys.argv[3])
else:
    write(sys.argv[1])
