# SPDX-License-Identifier: Apache-2.0
"""usage: report_trace.py FIELDS_H OUT [only-app|lost|counted|ended|titles|cgroup-waits|histograms]

Writes a trace of 100 ms whose every answer is known. FIELDS_H has the numbers of the fields. Times are ms.

 CPU 0  app 0-10, hog 10-30, app 30-55, idle -61, app 61-70, idle -80, hog 80-
 CPU 1  server 1-2, idle -13, server 13-21, idle -90, server 90-

 app    10 asleep in read(2), 20 woken by server, 30 runs; 55 blocked, 60 woken by an interrupt, 61 runs; 70 asleep
 server  2 asleep, 12 woken by an interrupt, 13 runs, 21 asleep

With only-app it is as sonda record -p writes it: switches between other threads are missing, so that it is not known how long
hog runs after 70. app runs again 95-98. Requests to disks are those of all threads, of which the idle thread issues one.

With lost the rings of both CPUs lost events before their first one; with counted also their counters are in the trace: 1000 of CPU 0,
234 of CPU 1.

With ended the last switches of threads that ended are missing: late 50 is woken at 40 and ends at 44, worker 21 of server is woken at 50 and
has no end, and server ends at 95.

With cgroup-waits the trace only has waits that the kernel counted, of the containers web and db, in two intervals: to 50 and to 100.

With histograms the trace only has two histograms of events, by name and by control group, with hostile packets among them.

With titles app and hog have set one, and server is a program in a directory.
"""
import re
import struct
import sys

ONLY_APP = sys.argv[3:] == ["only-app"]
ENDED = sys.argv[3:] == ["ended"]
COUNTED = sys.argv[3:] == ["counted"]
TITLES = {10: "postgres: bench COMMIT", 20: "/usr/lib/x/server", 30: "postgres: bench/a idle"} if sys.argv[3:] == ["titles"] else {}
LOST = COUNTED or sys.argv[3:] == ["lost"]
START = 5_000_000_000
ID = {}
with open(sys.argv[1], encoding="ascii") as f:
    for name, number in re.findall(r"^\tPB_(\w+) = (\d+),", f.read(), re.M):
        ID[name] = int(number)


def varint(v):
    v &= (1 << 64) - 1
    out = b""
    while v > 0x7F:
        out += bytes([v & 0x7F | 0x80])
        v >>= 7
    return out + bytes([v])


def field(name, value):
    number = ID[name]
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def message(prefix, **fields):
    out = b""
    for name, value in fields.items():
        for v in value if isinstance(value, list) else [value]:
            out += field(f"{prefix}_{name.upper()}", v)
    return out


def packed(*numbers):
    return b"".join(varint(v) for v in numbers)


def ns(ms):
    return START + round(ms * 1_000_000)


trace = b""
events = {0: [], 1: []}


def packet(payload, **fields):
    global trace
    if "timestamp" in fields:
        fields["timestamp"] = ns(fields["timestamp"])
    body = message("TRACE_PACKET", trusted_packet_sequence_id=3, **fields) + payload
    trace += field("TRACE_PACKET", body)


def event(cpu, ms, tid, kind, flags=0, **fields):
    """An event of the kernel: its name, and its fields by name."""
    body = field("FTRACE_EVENT_TIMESTAMP", ns(ms)) + field("FTRACE_EVENT_PID", tid)
    if flags:
        body += field("FTRACE_EVENT_COMMON_FLAGS", flags)
    body += field(f"FTRACE_EVENT_{kind}", message(f"{kind}_FTRACE_EVENT", **fields))
    events[cpu].append((ms, field("FTRACE_EVENT_BUNDLE_EVENT", body)))


NAMES = {0: "swapper", 10: "app", 20: "server", 30: "hog", 40: "kworker/0:1", 21: "worker", 50: "late"}


def switch(cpu, ms, prev, state, to):
    event(cpu, ms, prev, "SCHED_SWITCH", prev_comm=NAMES[prev], prev_pid=prev, prev_state=state,
          next_comm=NAMES[to], next_pid=to, next_prio=120)


def waking(cpu, ms, by, tid):
    event(cpu, ms, by, "SCHED_WAKING", comm=NAMES[tid], pid=tid, success=1, target_cpu=0)


def request(kind, cpu, ms, tid, dev, sector, sectors, rwbs):
    size = {} if kind in ("COMPLETE", "REQUEUE") else {"bytes": sectors * 512}
    event(cpu, ms, tid, f"BLOCK_RQ_{kind}", dev=dev, sector=sector, nr_sector=sectors, rwbs=rwbs, **size)


RUN, SLEEP, BLOCK = 0, 1, 2
switch(0, 0, 0, RUN, 10)
switch(0, 10, 10, SLEEP, 30)
switch(0, 30, 30, RUN, 10)
switch(0, 55, 10, BLOCK, 0)
waking(0, 60, 0, 10)
switch(0, 61, 0, RUN, 10)
if ONLY_APP:
    switch(0, 70, 10, SLEEP, 30)
    switch(0, 95, 0, RUN, 10)
    switch(0, 98, 10, SLEEP, 0)
else:
    switch(0, 70, 10, SLEEP, 0)
    switch(0, 80, 0, RUN, 30)
switch(1, 1, 0, RUN, 20)
switch(1, 2, 20, SLEEP, 0)
waking(1, 12, 0, 20)
switch(1, 13, 0, RUN, 20)
waking(1, 20, 20, 10)
switch(1, 21, 20, SLEEP, 0)
switch(1, 90, 0, RUN, 20)
if ENDED:
    waking(0, 40, 10, 50)
    event(0, 44, 10, "SCHED_PROCESS_FREE", comm="late", pid=50)
    waking(0, 50, 10, 21)
    event(1, 95, 20, "SCHED_PROCESS_FREE", comm="server", pid=20)
event(0, 100, 30, "PRINT", buf="the end")

event(0, 9, 10, "SYS_ENTER", id=0)
event(0, 31, 10, "SYS_EXIT", id=0, ret=1)

# Slices: outer 32-42 of which inner is 3 and 2, a counter, one that does not end.
for at, line in ((32, "B|10|outer"), (33, "B|10|inner"), (36, "E|10"), (37, "B|10|inner"), (39, "E|10"),
                 (42, "E|10"), (32, "C|10|depth|4"), (42, "C|10|depth|14"), (52, "C|10|depth|0"),
                 (54, "B|10|open")):
    event(0, at, 10, "PRINT", buf=line)

# Requests: a write of app that kworker issues, as the driver does not take it from app; two reads of hog, one that does not
# complete. 259:300 and 8:0.
NVME = 44 | 259 << 8 | 256 << 12
request("INSERT", 0, 1, 10, NVME, 100, 8, "W")
request("ISSUE", 0, 1.5, 10, NVME, 100, 8, "W")
request("REQUEUE", 0, 2, 10, NVME, 100, 8, "W")
request("INSERT", 0, 2.5, 40, NVME, 100, 8, "W")
request("ISSUE", 0, 3, 40, NVME, 100, 8, "W")
request("COMPLETE", 0, 7, 10, NVME, 100, 8, "W")
request("ISSUE", 0, 14, 30, 8 << 8, 200, 16, "R")
request("COMPLETE", 0, 15, 30, 8 << 8, 200, 16, "R")
request("ISSUE", 0, 16, 30, 8 << 8, 216, 16, "RA")
request("COMPLETE", 0, 19, 30, 8 << 8, 216, 16, "RA")
request("ISSUE", 0, 20, 30, 8 << 8, 232, 16, "R")
if ONLY_APP:
    request("ISSUE", 0, 56, 0, 8 << 8, 248, 16, "R")
    request("COMPLETE", 0, 57, 0, 8 << 8, 248, 16, "R")

for at, rc in ((4, 0), (5, 0), (6, 1)):
    event(0, at, 10, "NET_DEV_XMIT", name="eth0", len=1000, rc=rc)
event(1, 14, 20, "NETIF_RECEIVE_SKB", name="eth0", len=60)
event(1, 15, 20, "TCP_RETRANSMIT_SKB", sport=80, dport=4000, state=1)
for at, state in ((15.1, 2), (15.2, 1), (15.3, 1)):
    event(1, at, 20, "INET_SOCK_SET_STATE", protocol=6, newstate=state)
for at, location, protocol in ((17, 1 << 63, 0x800), (17.1, 7, 0x86dd), (17.2, 1 << 63, 0x800), (17.3, 5, 0x800)):
    event(1, at, 20, "KFREE_SKB", location=location, protocol=protocol)

# Interrupts: two of IRQ 5 on CPU 0 and one on CPU 1; a softirq that does not end.
for cpu, at, end in ((0, 46, 46.5), (0, 47, 48), (1, 30, 30.2)):
    event(cpu, at, 10, "IRQ_HANDLER_ENTRY", irq=5, name="disk")
    event(cpu, end, 10, "IRQ_HANDLER_EXIT", irq=5)
for at, end in ((31, 31.5), (32, 32.5)):
    event(1, at, 20, "SOFTIRQ_ENTRY", vec=3)
    event(1, end, 20, "SOFTIRQ_EXIT", vec=3)
event(1, 99, 20, "SOFTIRQ_ENTRY", vec=3)

event(0, 22, 30, "MM_VMSCAN_DIRECT_RECLAIM_BEGIN", order=0)
event(0, 26, 30, "MM_VMSCAN_DIRECT_RECLAIM_END", nr_reclaimed=32)
event(0, 45, 10, "MARK_VICTIM", pid=30)

if ONLY_APP:
    events[1].clear()
    of_app = message("FTRACE_CONFIG", ftrace_events=["sched/*", "block/block_rq_insert"], tids_to_trace=10, follow_children=1)
    of_all = message("FTRACE_CONFIG", ftrace_events=["block/block_rq_issue", "block/block_rq_complete"])
    config = b""
    for ftrace in of_app, of_all:
        source = message("DATA_SOURCE_CONFIG", name="linux.ftrace", ftrace_config=ftrace)
        config += field("TRACE_CONFIG_DATA_SOURCES", field("TRACE_CONFIG_DATA_SOURCE_CONFIG", source))
    packet(field("TRACE_PACKET_TRACE_CONFIG", config))
utsname = message("UTSNAME", sysname="Linux", release="6.1.0", machine="x86_64")
packet(field("TRACE_PACKET_SYSTEM_INFO", message("SYSTEM_INFO", utsname=utsname)))
processes = [message("PROCESS_TREE_PROCESS", pid=p, ppid=1, cmdline=TITLES.get(p, f"/usr/bin/{NAMES[p]}")) for p in (10, 20, 30)]
threads = [message("PROCESS_TREE_THREAD", tid=21, tgid=20)] if ENDED else []
packet(field("TRACE_PACKET_PROCESS_TREE", message("PROCESS_TREE", processes=processes, threads=threads)), timestamp=0)
for at, free, forks, stalled in ((0, 1000, 100, 0), (100, 600, 150, 20_000_000)):
    stats = message("SYS_STATS", meminfo=[message("SYS_STATS_MEMINFO_VALUE", key=k, value=v) for k, v in ((1, 2000), (2, free))],
                    num_forks=forks, psi=[message("SYS_STATS_PSI_SAMPLE", resource=5, total_ns=stalled)])
    packet(field("TRACE_PACKET_SYS_STATS", stats), timestamp=at)
for at, rss in ((0, 300), (50, 500), (99, 400)):
    stats = message("PROCESS_STATS", processes=[message("PROCESS_STATS_PROCESS", pid=10, vm_rss_kb=rss)])
    packet(field("TRACE_PACKET_PROCESS_STATS", stats), timestamp=at)
symbols = message("INTERNED_DATA", kernel_symbols=[message("INTERNED_STRING", iid=5, str="tcp_v4_rcv")])
for cpu, of in events.items():
    bundle = field("FTRACE_EVENT_BUNDLE_CPU", cpu) + b"".join(e for _, e in sorted(of, key=lambda e: e[0]))
    if LOST:
        bundle += field("FTRACE_EVENT_BUNDLE_LOST_EVENTS", 1)
    packet(field("TRACE_PACKET_FTRACE_EVENTS", bundle), sequence_flags=1, interned_data=symbols)
for phase, overrun, dropped in ((1, 7, 0), (2, 1007, 234)) if COUNTED else ():
    rings = [message("FTRACE_CPU_STATS", cpu=0, overrun=overrun), message("FTRACE_CPU_STATS", cpu=1, dropped_events=dropped)]
    packet(field("TRACE_PACKET_FTRACE_STATS", message("FTRACE_STATS", phase=phase, cpu_stats=rings)))
if sys.argv[3:] == ["cgroup-waits"]:
    trace = b""
    groups = [message("CGROUP_TREE_GROUP", id=7, path="/docker/a", kind="container", name="web"),
              message("CGROUP_TREE_GROUP", id=8, path="/docker/b", kind="container", name="db")]
    packet(field("TRACE_PACKET_CGROUP_TREE", message("CGROUP_TREE", groups=groups)), timestamp=0)
    # group, cause, total, longest, pairs of bucket and count: bucket 1 is from 1024 ns, 45 from 2097152 ns on
    first = [7, 0, 300_000, 2_200_000, 2, 1, 99, 45, 1, 7, 4, 9_000_000, 9_000_000, 1, 53, 1, 8, 3, 1500, 1500, 1, 2, 1]
    second = [7, 0, 1100, 0, 1, 1, 1, 8, 1, 2000, 2000, 1, 4, 1]
    # A cause and a bucket that do not exist, a row that is cut off.
    hostile = [7, 5, 1, 1, 1, 1, 1, 7, 0, 0, 0, 1, 96, 1000, 7, 0, 1]
    for at, rows in ((50, first), (100, second + hostile)):
        waits = message("CGROUP_WAITS", duration_ns=50_000_000, rows=packed(*rows), lost=3)
        packet(field("TRACE_PACKET_CGROUP_WAITS", waits), timestamp=at)
if sys.argv[3:] == ["histograms"]:
    trace = b""
    groups = [message("CGROUP_TREE_GROUP", id=7, path="/docker/a", kind="container", name="web")]
    packet(field("TRACE_PACKET_CGROUP_TREE", message("CGROUP_TREE", groups=groups)), timestamp=0)
    sizes = dict(name="write: count by comm", event="x/write", field="count", key="comm", duration_ns=50_000_000)
    waits = dict(name="a..b: time by cgroup linear -10..10 step 5", event="x/a", end_event="x/b", key="cgroup", duration_ns=50_000_000,
                 linear=message("EVENT_HISTOGRAM_LINEAR", min=19, step=5, steps=4))
    first = [message("EVENT_HISTOGRAM_ROW", text="make", total=2 * 600, buckets=packed(1, 2, 8, 4, 10, 1)),
             message("EVENT_HISTOGRAM_ROW", text="cc1", total=3, buckets=packed(0, 2))]
    second = [message("EVENT_HISTOGRAM_ROW", text="make", total=2, buckets=packed(2, 1, 65, 1, 64, 1))]
    hostile = [message("EVENT_HISTOGRAM_ROW", total=1, buckets=packed(66, 5, 1)), b"\xff\xff", message("EVENT_HISTOGRAM_ROW")]
    of_group = [message("EVENT_HISTOGRAM_ROW", number=14, total=2 * 4, buckets=packed(0, 1, 1, 2, 4, 3, 5, 4))]
    unknown_group = [message("EVENT_HISTOGRAM_ROW", number=18, total=2 * 10, buckets=packed(5, 1, 6, 1))]
    wide = dict(waits, name="wide", linear=message("EVENT_HISTOGRAM_LINEAR", min=2, step=2**64 - 1, steps=2**32 - 1))
    for at, parts in ((50, dict(sizes, rows=first)), (100, dict(sizes, rows=second + hostile, no_key=7)),
                      (60, dict(waits, rows=of_group, no_begin=2)), (70, dict(waits, rows=unknown_group)),
                      (80, dict(wide, rows=[message("EVENT_HISTOGRAM_ROW", buckets=packed(0, 1, 255, 1, 256, 1))]))):
        packet(field("TRACE_PACKET_EVENT_HISTOGRAM", message("EVENT_HISTOGRAM", **parts)), timestamp=at)
with open(sys.argv[2], "wb") as f:
    f.write(trace)
