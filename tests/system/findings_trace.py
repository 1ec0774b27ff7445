# SPDX-License-Identifier: Apache-2.0
"""usage: findings_trace.py DIR

Writes DIR/NAME.above and DIR/NAME.below for each finding of sonda report findings: traces of 1 s as text, in which the
trouble is a little above its thresholds, or below one of them; and DIR/cpu_quota.waits, DIR/runaway_forks.build.
"""
import os
import sys

START = 1_000_000_000
SYSCALLS = {"fsync": 74, "epoll_wait": 232}
IN_INTERRUPT = 8


class Trace:
    """Threads are tids; times are ms since the start."""

    def __init__(self, processes, config=""):
        self.packets = [f"trace_config {{ {config} }}"]
        self.events = {0: [], 1: []}
        self.names = {0: "swapper"}
        self.on = {0: 0, 1: 0}
        tree = ""
        for pid, threads in processes.items():
            for tid, name in threads.items():
                self.names[tid] = name
                tree += (f'processes {{ pid: {pid} cmdline: "/usr/bin/{name}" }} ' if tid == pid else
                         f'threads {{ tid: {tid} tgid: {pid} name: "{name}" }} ')
        self.packets.append(f"timestamp: {START} process_tree {{ {tree} }}")
        self.packets.append('timestamp: 1000000000 system_info { utsname { sysname: "Linux" machine: "x86_64" } }')

    def event(self, cpu, ms, name, fields, tid=None):
        ts = START + round(ms * 1_000_000)
        tid = self.on[cpu] if tid is None else tid
        self.events[cpu].append((ts, f"event {{ timestamp: {ts} pid: {tid} {name} {{ {fields} }} }}"))

    def switch(self, cpu, ms, to, state=1, prio=120):
        """State 0: the thread could run on; 1: it sleeps; 2: it is blocked."""
        prev = self.on[cpu]
        self.event(cpu, ms, "sched_switch", f'prev_comm: "{self.names[prev]}" prev_pid: {prev} prev_state: {state if prev else 0} '
                   f'next_comm: "{self.names[to]}" next_pid: {to} next_prio: {prio}')
        self.on[cpu] = to

    def waking(self, cpu, ms, tid, by_interrupt=False):
        self.event(cpu, ms, "sched_waking", f'comm: "{self.names[tid]}" pid: {tid} success: 1 '
                   f"common_flags: {IN_INTERRUPT if by_interrupt else 0}")

    def call(self, cpu, ms, took, tid, name, ret):
        self.event(cpu, ms, "sys_enter", f"id: {SYSCALLS[name]}", tid)
        self.event(cpu, ms + took, "sys_exit", f"id: {SYSCALLS[name]} ret: {ret}", tid)

    def packet(self, ms, text):
        self.packets.append(f"timestamp: {START + round(ms * 1_000_000)} {text}")

    def span(self):
        """Both CPUs are recorded for the whole second."""
        for cpu in (0, 1):
            for ms in (0, 1000):
                self.event(cpu, ms, "print", 'buf: "mark"', 0)

    def text(self):
        self.span()
        for cpu, events in self.events.items():
            self.packets.append(f"ftrace_events {{ cpu: {cpu} " + "\n".join(t for _, t in sorted(events, key=lambda e: e[0])) + " }")
        return "\n".join(f"packet {{ trusted_packet_sequence_id: 1 {p} }}" for p in self.packets) + "\n"


def config(*events, sources=""):
    listed = " ".join(f'ftrace_events: "{e}"' for e in events)
    return f'data_sources {{ config {{ name: "linux.ftrace" ftrace_config {{ {listed} }} }} }} {sources}'


WAITS = 'data_sources { config { name: "linux.waits" } }'
PAIR = {10: {10: "app"}, 20: {20: "hog"}}


def totals(t, pid, reason, ns, n, ms=999):
    """A total of linux.waits, without a stack."""
    t.packets.append('sequence_flags: 1 timestamp: 1000000001 trace_packet_defaults { timestamp_clock_id: 6 stack_sample_defaults { '
                     'source: "linux.waits" primary_descriptor { name: "blocked" unit: UNIT_NANOSECONDS scope: SCOPE_GLOBAL } '
                     'follower_descriptors { name: "waits" unit: UNIT_COUNT scope: SCOPE_GLOBAL } } } interned_data { '
                     'debug_annotation_names { iid: 1 str: "waker" } debug_annotation_names { iid: 2 str: "waker tid" } '
                     'mapping_paths { iid: 1 str: "kernel" } mappings { iid: 1 path_string_ids: 1 } '
                     f'function_names {{ iid: 1 str: "[{reason}]" }} function_names {{ iid: 2 str: "[no stack taken]" }} '
                     'frames { iid: 1 function_name_id: 1 mapping_id: 1 } frames { iid: 2 function_name_id: 2 mapping_id: 1 } '
                     'callstacks { iid: 1 frame_ids: [2, 1] } }')
    t.packet(ms, f"sequence_flags: 2 stack_sample {{ task_context {{ pid: {pid} }} callstack_iid: 1 primary_weight: {ns} "
             f"follower_weights: [{n}] }}")


def cpu_neighbour(above):
    t = Trace(PAIR, config("sched/*"))
    wait = 25 if above else 15
    t.switch(0, 0, 20)
    for ms in range(0, 1000, 100):
        t.waking(0, ms + 1, 10, True)
        t.switch(0, ms + 1 + wait, 10)
        t.waking(0, ms + 99, 20, True)
        t.switch(0, ms + 99.01, 20)
    return t


def cpu_quota(above):
    t = Trace(PAIR, config("sched/*"))
    off = 15 if above else 6
    t.switch(0, 0, 10)
    for ms in range(0, 1000, 100):
        t.switch(0, ms + 99 - off, 0, 0)
        t.switch(0, ms + 99, 10)
    return t


def cpu_quota_waits():
    """The CPU is never idle: only linux.waits has the quota."""
    t = Trace(PAIR, config("sched/*", sources=WAITS))
    for ms in range(0, 1000, 100):
        t.switch(0, ms, 10, 0)
        t.switch(0, ms + 50, 20, 0)
    totals(t, 10, "cgroup throttle", 300_000_000, 10)
    return t


def lock_convoy(above):
    t = Trace({10: {10: "app", 11: "a", 12: "b", 13: "c"}}, config("sched/*", sources=WAITS))
    t.switch(0, 0, 11)
    for i in range(100):
        tid = 11 + (i + 1) % 3
        t.waking(0, 10 * i + 9.99, tid)
        t.switch(0, 10 * i + 10, tid)
    totals(t, 10, "futex", 600_000_000 if above else 300_000_000, 100)
    return t


def priority_inversion(above):
    t = Trace({10: {10: "high"}, 20: {20: "low"}, 30: {30: "medium"}}, config("sched/*", sources=WAITS))
    off = 6 if above else 3
    totals(t, 10, "futex", 5_000_000 * (16 + off), 5)
    t.packet(0.1, "track_descriptor { uuid: 110 thread { pid: 10 tid: 10 } }")
    t.packet(0.1, 'track_descriptor { uuid: 210 parent_uuid: 110 name: "waits" sibling_merge_behavior: SIBLING_MERGE_BEHAVIOR_NONE }')
    for ms in range(0, 1000, 200):
        end = ms + 30 + off
        t.waking(0, ms + 19, 10, True)
        t.switch(0, ms + 19, 10, prio=50)
        t.switch(0, ms + 20, 20)
        t.waking(0, ms + 25, 30, True)
        t.switch(0, ms + 25, 30, 0, prio=80)
        t.switch(0, ms + 25 + off, 20)
        t.packet(ms + 20, 'sequence_flags: 2 track_event { type: TYPE_SLICE_BEGIN track_uuid: 210 name: "futex" debug_annotations { '
                 'name_iid: 1 string_value: "low" } debug_annotations { name_iid: 2 int_value: 20 } }')
        t.packet(end, "sequence_flags: 2 track_event { type: TYPE_SLICE_END track_uuid: 210 }")
        t.waking(0, end, 10)
        t.switch(0, end, 10, prio=50)
        t.switch(0, end + 1, 0)
    return t


def fsync_storm(above):
    t = Trace(PAIR, config("raw_syscalls/*"))
    for i in range(30):
        t.call(0, 30 * i + 1, 7 if above else 6, 10, "fsync", 0)
    return t


def slow_disk(above):
    t = Trace(PAIR, config("block/block_rq_issue", "block_rq_complete"))
    for i in range(12):
        request = f'dev: 2048 sector: {8 * i} nr_sector: 8 rwbs: "W"'
        t.event(0, 40 * i + 1, "block_rq_issue", request + " bytes: 4096", 10)
        t.event(0, 40 * i + 1 + (22 if above else 18), "block_rq_complete", request, 0)
    return t


def swap_reclaim(above):
    t = Trace(PAIR, config("vmscan/*"))
    for i in range(10):
        t.event(0, 50 * i, "mm_vmscan_direct_reclaim_begin", "order: 0", 10)
        t.event(0, 50 * i + (6 if above else 4), "mm_vmscan_direct_reclaim_end", "nr_reclaimed: 1", 10)
    for i in range(2 if above else 0):
        t.packet(990 * i, f"sys_stats {{ psi {{ resource: PSI_RESOURCE_MEMORY_SOME total_ns: {i * 297_000_000} }} }}")
    return t


def interrupts_on_one_cpu(above):
    t = Trace(PAIR, config("irq/*", "sched/*"))
    for cpu in (0, 1):
        t.switch(cpu, 0, 10 + 10 * cpu)
        t.switch(cpu, 1000, 0, 0)
        for i in range((1100, 100)[cpu] if above else (1100, 200)[cpu]):
            t.event(cpu, 0.9 * i, "irq_handler_entry", 'irq: 7 name: "eth0"', 0)
            t.event(cpu, 0.9 * i + 0.1, "irq_handler_exit", "irq: 7 ret: 1", 0)
    return t


def softirq_flood(above):
    t = Trace(PAIR, config("irq/*"))
    for i in range(100):
        t.event(0, 10 * i, "softirq_entry", "vec: 3", 0)
        t.event(0, 10 * i + (2.2 if above else 1.8), "softirq_exit", "vec: 3", 0)
    return t


def timer_slack(above):
    t = Trace(PAIR, config("timer/*"))
    for i in range(20):
        soft = START + round((40 * i + 2) * 1_000_000)
        t.event(0, 40 * i, "hrtimer_start", f"hrtimer: 7 function: 1 softexpires: {soft} expires: {soft + (300_000 if above else 150_000)}", 10)
    return t


def busy_polling(above):
    t = Trace(PAIR, config("raw_syscalls/*"))
    for i in range(2300):
        t.call(0, 0.43 * i, 0.1 if i % 10 == 0 else 0.04, 10, "epoll_wait", 0 if above or i % 4 else 1)
    t.switch(0, 0, 10)
    return t


def thundering_herd(above):
    herd = {10: "app"} | {tid: "worker" for tid in range(11, 17)}
    t = Trace({10: herd}, config("sched/*"))
    t.switch(0, 0, 10)
    for ms in range(1, 1000, 100):
        for tid in range(11, 17):
            t.waking(0, ms + 0.001 * (tid - 10), tid)
        at = ms + 1
        for i, tid in enumerate(range(11, 17)):
            t.switch(0, at, tid)
            at += 0.05 if i < (3 if above else 1) else 2
        t.switch(0, at, 0)
        t.waking(0, ms + 90, 10, True)
        t.switch(0, ms + 90, 10)
    return t


def runaway_forks(above):
    t = Trace({10: {10: "app"}}, config("sched/*", "task/*"))
    t.switch(0, 0, 10)
    for i in range(320 if above else 280):
        pid = 1000 + i
        t.event(0, 3 * i, "task_newtask", f'pid: {pid} comm: "app" clone_flags: 0')
        t.event(0, 3 * i + 1, "sched_process_exit", f'comm: "app" pid: {pid} tgid: {pid} prio: 120', pid)
        t.event(0, 3 * i + 1.1, "sched_process_free", f'comm: "app" pid: {pid} prio: 120')
    return t


def build_of_some_threads():
    """A build in a recording of its own threads: each process ends, and sched_process_free is not recorded."""
    t = Trace({10: {10: "app"}}, config("sched/*", "task/*"))
    t.switch(0, 0, 10)
    for pid in range(1000, 1320):
        t.event(0, 2 * (pid - 1000), "task_newtask", f'pid: {pid} comm: "app" clone_flags: 0')
        t.event(0, 2 * (pid - 1000) + 60, "sched_process_exit", f'comm: "app" pid: {pid} tgid: {pid} prio: 120', pid)
    return t


def tcp_loss(above):
    t = Trace(PAIR, config("tcp/tcp_retransmit_skb", "net/*"))
    for i in range(1000):
        t.event(0, i * 0.9, "net_dev_xmit", 'len: 1500 name: "eth0" rc: 0 skbaddr: 1', 10)
    for i in range(12 if above else 9):
        t.event(0, 50 * i, "tcp_retransmit_skb", "sport: 80 dport: 4000 state: 1", 0)
    return t


def page_faults(above):
    t = Trace(PAIR, config("sched/*"))
    t.packet(0, 'track_descriptor { uuid: 10 process { pid: 10 process_name: "app" } }')
    t.packet(0, 'track_descriptor { uuid: 70 parent_uuid: 10 name: "page faults" counter { } }')
    for i in range(11):
        t.packet(100 * i, f"track_event {{ type: TYPE_COUNTER track_uuid: 70 counter_value: {i * (5_500 if above else 4_500)} }}")
    return t


def migrations(above):
    t = Trace(PAIR, config("sched/*"))
    step = 4 if above else 6
    for i in range(960 // step):
        t.switch(i % 2, step * i, 10)
        t.switch(i % 2, step * (i + 1) - 0.1, 0, 0)
    return t


def recorder(above):
    t = Trace({10: {10: "strace"}, 20: {20: "app"}}, config("sched/*"))
    for ms in range(0, 1000, 100):
        t.switch(0, ms, 10)
        t.switch(0, ms + (22 if above else 18), 0)
        t.switch(1, ms, 20)
        t.switch(1, ms + 50, 0)
    return t


CASES = [cpu_neighbour, cpu_quota, lock_convoy, priority_inversion, fsync_storm, slow_disk, swap_reclaim, interrupts_on_one_cpu,
         softirq_flood, timer_slack, busy_polling, thundering_herd, runaway_forks, tcp_loss, page_faults, migrations, recorder]

with open(os.path.join(sys.argv[1], "cpu_quota.waits"), "w", encoding="ascii") as out:
    out.write(cpu_quota_waits().text())
with open(os.path.join(sys.argv[1], "runaway_forks.build"), "w", encoding="ascii") as out:
    out.write(build_of_some_threads().text())
for case in CASES:
    for above in (True, False):
        with open(os.path.join(sys.argv[1], f"{case.__name__}.{'above' if above else 'below'}"), "w", encoding="ascii") as f:
            f.write(case(above).text())
