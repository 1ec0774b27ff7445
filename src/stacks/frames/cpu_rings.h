/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "stacks/frames/cpu_ring.h"

/* The rings of all CPUs, whose records are read in order of time. */
#define CPU_RINGS_MAX 8192 /* CPUs */
/* Records become visible up to this time after their time stamp. A reader leaves younger ones in
 * the rings, so that it reads the records of all CPUs in order. */
#define CPU_RINGS_DELAY_NS 1000000
/* Bytes after which perf wakes the reader of a ring that has records of mappings and tasks only.
 * The start of a program produces about as many, so its mappings are known before its first
 * sample. */
#define CPU_RINGS_RECORDS_WATERMARK 512

struct event_base;

struct cpu_rings {
	struct cpu_ring *items; /* owned; room for all configured CPUs */
	unsigned n, n_cpus;
};

/* Makes room for a ring of each configured CPU. Returns 0 or -ENOMEM. */
int cpu_rings_init(struct cpu_rings *rings);
/* Closes all rings. */
void cpu_rings_close(struct cpu_rings *rings);
void cpu_rings_deinit(struct cpu_rings *rings);
/* Opens the ring of a CPU (cpu_ring_open()). Returns 0 or -errno; -ENODEV: the CPU is offline. */
int cpu_rings_add(struct cpu_rings *rings, struct perf_event_attr *attr, unsigned cpu,
		  uint32_t *pages);
/* Creates the `wakeup` of each ring: a callback of libevent for a ring that has reached its
 * watermark. Returns 0 or -ENOMEM. */
int cpu_rings_watch(struct cpu_rings *rings, struct event_base *loop,
		    void (*woke)(int fd, short what, void *ctx), void *ctx);
/* Enables or disables all events and their wakeups. Returns 0, or -errno of the last failure. */
int cpu_rings_enable(struct cpu_rings *rings, bool yes);
void cpu_rings_refresh(struct cpu_rings *rings);
void cpu_rings_release(struct cpu_rings *rings);
/* Returns the ring whose next record is the oldest one, up to that time; NULL: there is none. */
struct cpu_ring *cpu_rings_find_earliest(const struct cpu_rings *rings, uint64_t until);
/* Returns true if a ring holds an unread exec of the process. */
bool cpu_rings_has_exec(const struct cpu_rings *rings, int32_t pid);
