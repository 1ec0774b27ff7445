/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bpf/switch_records.h"
#include "ebpf/engine/family.h"

/* The built-in families. Each is defined in the file of its name; its programs are in
 * bpf/NAME.bpf.c. */
extern const struct ebpf_family
	block_family; /* latency, bytes, requests in flight of block devices */
extern const struct ebpf_family cpu_time_family; /* states of the threads of each process */
extern const struct ebpf_family faults_family; /* page faults, total and per process */
extern const struct ebpf_family futex_family; /* futex waits per process */
extern const struct ebpf_family interrupts_family; /* time in softirqs and interrupts per CPU */
extern const struct ebpf_family locks_family; /* waits for kernel locks, by lock type and process */
extern const struct ebpf_family memory_family; /* reclaim, compaction, OOM kills */
extern const struct ebpf_family processes_family; /* memory and I/O of every process, as rows */
extern const struct ebpf_family runq_family; /* run-queue latency and depth, switches, migrations */
extern const struct ebpf_family syscalls_family; /* system calls per process and by name */
extern const struct ebpf_family tcp_family; /* TCP retransmits and resets, drops by reason */

/* All families, in the order in which they are read. */
extern const struct ebpf_family *const ebpf_families[];
extern const size_t ebpf_n_families;

/* The requirements of a program variant that includes bpf/switch_records.h. */
#define NEEDS_OF_SWITCH_RECORDS                                                                    \
	NEED_FIELD("sched/sched_switch", "prev_pid", SWITCH_PREV),                                 \
		NEED_FIELD("sched/sched_switch", "prev_state", SWITCH_STATE),                      \
		NEED_FIELD("sched/sched_switch", "next_pid", SWITCH_NEXT),                         \
		NEED_FIELD("sched/sched_wakeup", "pid", SWITCH_WOKEN),                             \
		NEED_FIELD("sched/sched_wakeup_new", "pid", SWITCH_WOKEN_NEW),                     \
		NEED_FIELD("task/task_newtask", "pid", SWITCH_NEW),                                \
		NEED_FIELD("task/task_newtask", "clone_flags", SWITCH_NEW_FLAGS),                  \
		NEED_FIELD("sched/sched_process_exec", "old_pid", SWITCH_EXEC_OLD),                \
		NEED_FIELD("sched/sched_process_exec", "pid", SWITCH_EXEC)

/* The requirements of a program variant at the raw tracepoints of system calls. */
#define NEEDS_OF_RAW_SYSCALLS                                                                      \
	NEED_RAW_TP("raw_syscalls/sys_enter", "id", 2, 2),                                         \
		NEED_RAW_TP("raw_syscalls/sys_exit", "ret", 2, 2)
