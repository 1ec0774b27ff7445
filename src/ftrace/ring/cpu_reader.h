/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ftrace/events/page_encode.h"
#include "ftrace/ring/lost_ranges.h"
#include "ftrace/ring/ring_stats.h"
#include "ftrace/tracefs/instance.h"

/* The CPUs that are present, online or not (sys/devices/system/cpu/present). The kernel has a ring
 * for every possible CPU, which may be hundreds more. If the file cannot be read, all CPUs count
 * as present. */
struct cpu_presence {
	char list[4096]; /* the text of the file, a page at most: "0-3,8"; empty: unknown */
};

/*
 * Reads the ring of one CPU, sub-buffer by sub-buffer, without blocking. Each sub-buffer is
 * encoded while it is in the cache.
 *
 * A pass reads what a tick or a flush needs from a ring. It takes several calls of bounded length
 * and ends when `done` is set.
 */
struct cpu_reader {
	uint32_t cpu;
	int fd; /* owned: trace_pipe_raw, non-blocking; -1: not open, as for an absent CPU */
	bool done; /* this pass has ended */
	bool nearly_empty; /* the last sub-buffer of this pass was nearly empty */
	bool absent; /* no ring yet: the CPU has not been online since boot */
	uint32_t pass_bytes; /* read in this pass; whole sub-buffers, even if not full */
	uint64_t read_ns; /* CLOCK_MONOTONIC: end of the last pass that read something */
	int stats_fd; /* owned: the file of the ring's counters; -1: not open yet */
	struct lost_ranges lost;
};

struct cpu_readers {
	struct cpu_reader *cpus; /* owned: one for each possible CPU, by number */
	unsigned n;
	uint8_t *page; /* owned: memory for one sub-buffer */
	uint32_t page_size; /* bytes of a sub-buffer */
	uint32_t pass_max; /* bytes after which a pass ends: a whole ring and 3 sub-buffers */
	char *dir; /* owned: the directory per_cpu */
	const char *sys_root; /* borrowed until cpu_readers_close */
	struct cpu_presence presence;
	/* a hotplugged CPU could not be opened; retried by the next cpu_readers_open_new */
	bool unopened;
};

/* Opens the rings of an instance. sys_root is "/sys". buffer_kb: KiB of a ring. r must be zeroed.
 * Returns 0 or -errno; sets e on failure. */
int cpu_readers_open(struct cpu_readers *r, const struct instance *i, const char *sys_root,
		     const struct ring_page_layout *layout, uint32_t buffer_kb, struct err_text *e);
/* A zeroed r is allowed. */
void cpu_readers_close(struct cpu_readers *r);

/* Opens the rings of CPUs that were plugged in since the last call. Not during a pass. */
void cpu_readers_open_new(struct cpu_readers *r);

/* Reads the kernel's counters of a ring. Keeps the file open: opening it can block for a second
 * while another tracer changes settings, reading it cannot. Returns 0 or -errno. */
int cpu_reader_read_stats(const struct cpu_readers *r, struct cpu_reader *cpu,
			  struct ring_stats *ret);

/* Begin a pass over all rings, or over one. */
void cpu_readers_begin_pass(struct cpu_readers *r);
void cpu_reader_begin_pass(struct cpu_reader *cpu);

/*
 * Reads sub-buffers of one ring until max bytes are read, and encodes them for n targets (at least
 * one). Returns the number of bytes read.
 *
 * A tick's pass also ends at a sub-buffer that is nearly empty, because the kernel still writes to
 * it. A sub-buffer may also be short because the next record is larger than the rest of it, but
 * not twice in a row. So a pass to_the_end (a flush) ends at the second short one, or when the
 * ring is empty. It reads what was in the ring when it began, and does not chase a writer that is
 * equally fast.
 */
uint32_t cpu_reader_read_pages(struct cpu_readers *r, struct cpu_reader *cpu,
			       struct page_encode_target *to, unsigned n, uint32_t max,
			       bool to_the_end);
