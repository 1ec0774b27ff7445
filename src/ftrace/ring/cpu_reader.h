/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ftrace/tracefs/instance.h"
#include "ftrace/ring/lost_ranges.h"
#include "ftrace/ring/ring_stats.h"
#include "ftrace/events/page_encode.h"

/*
 * The CPUs that are in the machine, on or off: the kernel has a ring for every one that could ever
 * be plugged in, which may be hundreds more. By sys/devices/system/cpu/present; where that cannot
 * be read, all are taken to be there.
 */
struct cpu_presence {
	char list[4096]; /* "0-3,8"; empty: not to be had */
};

/*
 * Reads the ring of one CPU, sub-buffer by sub-buffer, without ever waiting, and has each one
 * translated while it is in the cache.
 *
 * A pass is what a tick or a flush wants from a ring: it may take several calls, each of bounded
 * length, and is over when `done` is set.
 */
struct cpu_reader {
	uint32_t cpu;
	int fd; /* owned: trace_pipe_raw, non-blocking; -1: the CPU is not in the machine */
	bool done; /* with this pass */
	bool hardly; /* was begun: the last sub-buffer of this pass */
	bool absent; /* the kernel has made no ring yet: the CPU has not been on since */
	uint32_t pass_bytes; /* read in this pass; whole sub-buffers, however full */
	uint64_t read_ns; /* CLOCK_MONOTONIC: when the last pass that read something was over */
	int stats_fd; /* owned: the ring's counters; -1: not needed so far */
	struct lost_ranges lost;
};

struct cpu_readers {
	struct cpu_reader *cpus; /* owned: of every CPU that the machine could have, by number */
	unsigned n;
	uint8_t *page; /* owned: one sub-buffer, */
	uint32_t page_size; /* of so many bytes */
	uint32_t pass_max; /* a pass ends after so many bytes: a whole ring and its ends */
	char *dir; /* owned: the folder per_cpu */
	const char *sys_root; /* borrowed until it is closed */
	struct cpu_presence presence;
	bool unopened; /* one that has been plugged in could not be opened: the next look tries */
};

/* Opens the rings of an instance. sys_root is "/sys". 0, or -errno with a sentence in e. On zeroed
 * memory. */
int cpu_readers_open(struct cpu_readers *r, const struct instance *i, const char *sys_root,
		     const struct ring_page_layout *layout, uint32_t buffer_kb, struct err_text *e);
/* Zeroed is fine. */
void cpu_readers_close(struct cpu_readers *r);

/* Opens the rings of CPUs that have been plugged in since. Not while a pass is on. */
void cpu_readers_look(struct cpu_readers *r);

/* Reads the kernel's counters of a ring. Their file stays open: another tracer that changes settings may
 * hold up an open for a second, a read never. 0 or -errno. */
int cpu_reader_stats(const struct cpu_readers *r, struct cpu_reader *cpu, struct ring_stats *ret);

/* A new pass over all rings, or one. */
void cpu_readers_begin(struct cpu_readers *r);
void cpu_reader_begin(struct cpu_reader *cpu);

/*
 * Reads sub-buffers of one ring, as many as begin below max bytes, and has them translated for n
 * takers, one or more; gives how many bytes. A tick's pass is also over at a sub-buffer that was
 * hardly begun, because the writer is still at it: it is worth waiting for more. So may be one that
 * the writer left for a record of more than half a sub-buffer, but not two in a row: a pass
 * to_the_end (a flush) is over at the second, or when the ring is empty. It has read what was there
 * when it began, and does not run after a writer that is as fast.
 */
uint32_t cpu_reader_run(struct cpu_readers *r, struct cpu_reader *cpu,
			struct page_encode_target *to, unsigned n, uint32_t max, bool to_the_end);
