/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The perf event of one CPU and its ring (perf_event_open(2)), in memory shared with the kernel:
 *
 *	cpu_ring_refresh    reads how far the kernel has written
 *	cpu_ring_peek       returns the next record, or NULL
 *	cpu_ring_consume    advances to the record after it
 *	cpu_ring_release    returns the space of consumed records to the kernel
 *
 * sample_type is TID | TIME | CPU | READ, and CALLCHAIN or not; sample_id_all is set; read_format
 * is LOST where the kernel has it (6.0), and GROUP if the caller sets it: then a sample also has
 * the counts of the other events in the group of this one.
 */
#define CPU_RING_RECORD_MAX 65536 /* bytes of a record: its size is a uint16_t */

#define CPU_RING_GROUP_MAX 8 /* events of a group */

struct event;

struct cpu_ring {
	int fd; /* owned; -1: closed */
	unsigned cpu;
	struct perf_event_mmap_page *page; /* owned, with the data */
	size_t size; /* bytes of data, a power of two */
	uint64_t at, head;
	uint64_t time; /* of the next record, if has_next */
	bool has_next;
	bool broken; /* a record was invalid: the ring is not read any further */
	bool counts_lost; /* each sample has the number of lost records after its count */
	bool is_group; /* the number of counts precedes them */
	uint64_t reported_lost; /* lost records that PERF_RECORD_LOST reported; the caller counts */
	struct event *wakeup; /* owned; NULL: the ring is not watched */
};

/* Opens the event on that CPU, disabled. Halves *pages until the kernel has memory. The ring wakes
 * its reader after attr->wakeup_watermark bytes, or if that is 0, when it is half full. Returns 0
 * or -errno. */
int cpu_ring_open(struct cpu_ring *r, struct perf_event_attr *attr, unsigned cpu, uint32_t *pages);
void cpu_ring_close(struct cpu_ring *r);
/* Sets the filter of a tracepoint; enables or disables the event. Return 0 or -errno. */
int cpu_ring_set_filter(struct cpu_ring *r, const char *filter);
int cpu_ring_enable(struct cpu_ring *r, bool yes);
/* Returns the number of lost records that no PERF_RECORD_LOST has reported: the kernel writes that
 * record only when the next one has room, so the last may be missing. 0 if the kernel does not
 * count. */
uint64_t cpu_ring_count_unreported_lost(const struct cpu_ring *r);

/* Makes the records visible that the kernel has written so far. */
void cpu_ring_refresh(struct cpu_ring *r);
/* Returns the next record, or NULL. A record that wraps around the end of the ring is copied to
 * memory that all rings share. */
const struct perf_event_header *cpu_ring_peek(struct cpu_ring *r);
/* Advances to the record after the one that was peeked. */
void cpu_ring_consume(struct cpu_ring *r);
/* Gives the space of the consumed records back to the kernel. */
void cpu_ring_release(struct cpu_ring *r);
