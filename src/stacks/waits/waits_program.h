/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "bpf/waits.h"
#include "stacks/unwind/unwind_maps.h"
#include "stacks/waits/waits_config.h"

/* The BPF programs of linux.waits (bpf/waits.bpf.c): load, records, totals, limits, cost. */
struct waits_program;

/* Records in the order of the ring: each is its size (uint32_t), then its bytes, 8-byte aligned. */
#define WAITS_QUEUE_MAX (16u << 20) /* bytes; reading stops above it */

struct waits_queue {
	char *bytes; /* owned */
	size_t n, cap;
	size_t at; /* the next record */
};

/* Tables of totals. The keys of the last one are struct waker_key, those of the others its first
 * member. */
enum { WAITS_TOTALS, WAITS_TOTALS_WITHOUT_STACKS, WAITS_TOTALS_OF_WAKERS, WAITS_TABLES };
/* Return the room of a table in elements, and the bytes of its keys. */
uint32_t waits_program_table_max(unsigned table);
size_t waits_program_key_size(unsigned table);

struct waits_counts {
	struct waits_cpu lost; /* of all CPUs, and records that found no memory */
	struct waits_budget budget; /* the limits now */
	bool is_lowered;
	uint64_t run_ns, runs; /* of the programs while their cost was measured */
	uint64_t measured_ns; /* and how long it was measured, times the number of CPUs */
	uint64_t missed_programs; /* of awaited containers (ebpf/engine/new_groups.h) */
};

/* Loads and attaches the programs; from now on they record. own: the processes of the recorder;
 * tables: for user stacks, borrowed while the programs run; NULL: by frame pointers. Returns 0, or
 * -errno and sets e. */
int waits_program_new(const struct waits_config *c, const uint32_t own[static WAITS_OWN_MAX],
		      const struct unwind_maps *tables, const char *tracefs_root,
		      struct waits_program **ret, struct err_text *e);
void waits_program_free(struct waits_program *p);
/* Returns a descriptor that is readable when the ring is half full, or a process has no tables; to
 * be watched edge-triggered. */
int waits_program_wakeup_fd(const struct waits_program *p);

/* Returns whether the programs record waits of the process. Without a selection by pid: true. */
bool waits_program_is_process_recorded(const struct waits_program *p, int32_t pid);

/* Appends the records in the ring to the queue. */
void waits_program_read_records(struct waits_program *p, struct waits_queue *q);
/* Ends all waits that still last, and appends them to the queue. */
void waits_program_end_waits(struct waits_program *p, struct waits_queue *q);
/* Clears the list of sent stacks: the programs send each stack again. */
void waits_program_clear_sent_stacks(struct waits_program *p);

/* Adds the totals that each CPU keeps for itself to the tables, before these are read. Returns 0 or
 * -errno. */
int waits_program_flush_totals(struct waits_program *p);
/* Calls fn for each total of a table. Returns 0 or -errno. */
int waits_program_each_total(struct waits_program *p, unsigned table,
			     void (*fn)(void *ctx, const void *key, const void *sum), void *ctx);
/* Removes a total, and returns its last value. Returns 0 or -errno. */
int waits_program_remove_total(struct waits_program *p, unsigned table, const void *key,
			       struct wait_sum *ret);

/* To be called once a period: measures the cost in one period of ten, and lowers the limits.
 * Returns false if the cost stays above max_overhead_percent with all limits at 0. */
bool waits_program_check_cost(struct waits_program *p);
void waits_program_read_counts(struct waits_program *p, struct waits_counts *ret);
