# SPDX-License-Identifier: Apache-2.0
"""usage: vm_trace.py FIELDS_H OUT entry|names|alone|alien

Writes a trace of a host and its guest, machine 7, of which every answer is known. The guest's clock, as converted, is 0.3005 ms
behind. Times are ms of the host.

 host CPU 0   to 60: in each ms, vcpu 0-0.5, idle. Then vcpu 60-70, load 70-90, vcpu 90-95, idle (vcpu waits for an I/O thread) -98, vcpu -100
 host CPU 1   to 60: in each ms, other 0.6-0.9, idle. Then idle, load 97-97.6, which wakes vcpu, idle
 guest CPU 0  to 60: in each ms, app 0.1-0.4, idle. Then app 60.1-94, late 94-94.5, app 94.5-99, idle

 late of the guest is woken at 69, and has not its CPU while load runs on the host.

vcpu is a thread of the process vmm, other one of the process decoy, which runs another guest. With entry the events kvm_entry tell
that they are CPUs, with names their names. With alone there is no decoy, and the trace is so short that vmm is not proved: it begins
at 58. With alien the guest is another machine: its switches come at any time.
"""
import re
import sys

KIND = sys.argv[3]
START = 5_000_000_000
AHEAD = 1_000_000_000  # of the guest's clock
ID = {}
with open(sys.argv[1], encoding="ascii") as f:
    for name, number in re.findall(r"^\tPB_(\w+) = (\d+),", f.read(), re.M):
        ID[name] = int(number)


def varint(v):
    out = b""
    while v > 0x7F:
        out += bytes([v & 0x7F | 0x80])
        v >>= 7
    return out + bytes([v])


def field(name, value):
    number = name if isinstance(name, int) else ID[name]
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def message(prefix, **fields):
    return b"".join(field(f"{prefix}_{name.upper()}", v) for name, of in fields.items() for v in (of if isinstance(of, list) else [of]))


def ns(ms, machine):
    return START + round(ms * 1_000_000) + (AHEAD - 300_000 if machine else 0)


VMM, VCPU, DECOY, OTHER, LOAD, APP, LATE = 100, 101, 200, 201, 300, 10, 11
NAMED = KIND != "entry"
NAMES = {0: "swapper", VCPU: "CPU 0/TCG" if NAMED else "first", OTHER: "CPU 0/KVM" if NAMED else "second", LOAD: "load", APP: "app",
         LATE: "late"}
events = {}


def event(machine, cpu, ms, tid, kind, raw=b"", **fields):
    body = field("FTRACE_EVENT_TIMESTAMP", ns(ms, machine)) + field("FTRACE_EVENT_PID", tid)
    body += field(f"FTRACE_EVENT_{kind}", message(f"{kind}_FTRACE_EVENT", **fields) + raw)
    events.setdefault((machine, cpu), []).append((ms, field("FTRACE_EVENT_BUNDLE_EVENT", body)))


def switch(machine, cpu, ms, prev, state, to):
    event(machine, cpu, ms, prev, "SCHED_SWITCH", prev_comm=NAMES[prev], prev_pid=prev, prev_prio=120, prev_state=state,
          next_comm=NAMES[to], next_pid=to, next_prio=120)
    if to in (VCPU, OTHER) and KIND == "entry":
        event(machine, cpu, ms + 0.01, to, "KVM_ENTRY", raw=field(1000, 0))


def waking(machine, cpu, ms, by, tid):
    event(machine, cpu, ms, by, "SCHED_WAKING", comm=NAMES[tid], pid=tid, success=1, target_cpu=0)


RUN, SLEEP = 0, 1
first = 58 if KIND == "alone" else 0
for ms in range(first, 60):
    waking(0, 1, ms - 0.01, 0, VCPU)
    switch(0, 0, ms, 0, RUN, VCPU)
    switch(0, 0, ms + 0.5, VCPU, SLEEP, 0)
    if KIND != "alone":
        waking(0, 1, ms + 0.59, 0, OTHER)
        switch(0, 1, ms + 0.6, 0, RUN, OTHER)
        switch(0, 1, ms + 0.9, OTHER, SLEEP, 0)
    at = ms + (ms * 0.618 % 1 / 2 if KIND == "alien" else 0.1)
    waking(7, 0, at - 0.01, 0, APP)
    switch(7, 0, at, 0, RUN, APP)
    switch(7, 0, at + 0.3, APP, SLEEP, 0)
waking(0, 1, 59.99, 0, VCPU)
switch(0, 0, 60, 0, RUN, VCPU)
switch(0, 0, 70, VCPU, RUN, LOAD)
switch(0, 0, 90, LOAD, SLEEP, VCPU)
switch(0, 0, 95, VCPU, SLEEP, 0)
switch(0, 1, 97, 0, RUN, LOAD)
waking(0, 1, 97.5, LOAD, VCPU)
switch(0, 1, 97.6, LOAD, SLEEP, 0)
switch(0, 0, 98, 0, RUN, VCPU)
switch(0, 0, 100, VCPU, SLEEP, 0)
waking(7, 0, 60.09, 0, APP)
switch(7, 0, 60.1, 0, RUN, APP)
waking(7, 0, 69, APP, LATE)
switch(7, 0, 94, APP, RUN, LATE)
switch(7, 0, 94.5, LATE, SLEEP, APP)
switch(7, 0, 99, APP, SLEEP, 0)

trace = b""


def packet(machine, payload, **fields):
    global trace
    if machine:
        fields["machine_id"] = machine
    trace += field("TRACE_PACKET", message("TRACE_PACKET", trusted_packet_sequence_id=3 + machine, **fields) + payload)


def tree(machine, *of):
    """Processes of one thread, or with one more thread."""
    processes = [message("PROCESS_TREE_PROCESS", pid=pid, ppid=1, cmdline=name) for pid, name, _ in of]
    threads = [message("PROCESS_TREE_THREAD", tid=tid, tgid=pid, name=NAMES[tid]) for pid, _, tid in of if tid]
    packet(machine, field("TRACE_PACKET_PROCESS_TREE", message("PROCESS_TREE", processes=processes, threads=threads)),
           timestamp=ns(first, machine))


def clock(ts):
    return message("CLOCK_SNAPSHOT", clocks=message("CLOCK_SNAPSHOT_CLOCK", clock_id=6, timestamp=ts))


packet(0, field("TRACE_PACKET_CLOCK_SNAPSHOT", field("CLOCK_SNAPSHOT_PRIMARY_TRACE_CLOCK", 6) + clock(START - 1_000_000)))
for machine, release in (0, "6.12.0"), (7, "6.1.0"):
    utsname = message("UTSNAME", sysname="Linux", release=release, machine="x86_64")
    packet(machine, field("TRACE_PACKET_SYSTEM_INFO", message("SYSTEM_INFO", utsname=utsname)))
syncs = [message("REMOTE_CLOCK_SYNC_SYNCED_CLOCKS", client_clocks=clock(at + AHEAD), host_clocks=clock(at))
         for at in (START - 1000_000, START - 999_000)]
packet(7, field("TRACE_PACKET_REMOTE_CLOCK_SYNC", message("REMOTE_CLOCK_SYNC", synced_clocks=syncs)))
tree(0, (VMM, "vmm", VCPU), (DECOY, "decoy", OTHER), (LOAD, "/usr/bin/load", 0))
tree(7, (APP, "/usr/bin/app", 0), (LATE, "/usr/bin/late", 0))
# DescriptorProto and FieldDescriptorProto: name, number, label, type.
vcpu_id = field(1, "vcpu_id") + field(3, 1000) + field(4, 1) + field(5, 4)
described = message("FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR", field_id=ID["FTRACE_EVENT_KVM_ENTRY"],
                    event_descriptor=field(1, "kvm_entry") + field(2, vcpu_id))
for (machine, cpu), of in events.items():
    bundle = field("FTRACE_EVENT_BUNDLE_CPU", cpu) + field("FTRACE_EVENT_BUNDLE_FURTHER_FIELD_DESCRIPTORS", described)
    bundle += b"".join(e for _, e in sorted(of, key=lambda e: e[0]))
    packet(machine, field("TRACE_PACKET_FTRACE_EVENTS", bundle))
with open(sys.argv[2], "wb") as f:
    f.write(trace)
