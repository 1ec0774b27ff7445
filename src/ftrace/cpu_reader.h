/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ftrace/instance.h"
#include "ftrace/translate.h"

/*
 * Reads the ring of one CPU, sub-buffer by sub-buffer, without ever waiting, and has each one
 * translated while it is in the cache.
 *
 * A pass is what a tick or a flush wants from a ring: it may take several calls, each of bounded
 * length, and is over when `done` is set.
 */
struct cpu_reader {
	int fd; /* owned: trace_pipe_raw, non-blocking */
	bool done; /* with this pass */
	uint32_t pass_pages; /* read in this pass */
	struct cpu_stream stream;
};

struct cpu_readers {
	struct cpu_reader *cpus; /* owned */
	unsigned n;
	uint8_t *page; /* owned: one sub-buffer */
	uint32_t max_pages; /* a pass ends after so many: a whole ring and its ends */
};

/*
 * Opens the rings of an instance; of CPUs that this machine can have, as sys_root tells. 0, or
 * -errno with a sentence in e. On zeroed memory.
 */
int cpu_readers_open(struct cpu_readers *r, const struct instance *i, const char *sys_root,
		     const struct page_layout *layout, uint32_t buffer_kb, struct err_text *e);
/* Zeroed is fine. */
void cpu_readers_close(struct cpu_readers *r);

/* A new pass over all rings. */
void cpu_readers_begin(struct cpu_readers *r);

/*
 * Reads and translates up to max pages of one ring; gives how many. to_the_end: the pass is over
 * only when the ring is empty (a flush). Else it is also over at a page that was hardly begun,
 * because the writer is still at it: it is worth waiting for more (a tick).
 */
uint32_t cpu_reader_run(struct cpu_readers *r, struct cpu_reader *cpu, struct translator *t,
			uint32_t max, bool to_the_end);
