/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "bpf/calls.h"
#include "ebpf/calls/calls_config.h"

/* The BPF programs of linux.syscalls (bpf/calls.bpf.c): load, records, losses, cost. */
struct calls_program;

struct calls_counts {
	struct calls_cpu lost; /* of all CPUs */
	uint64_t missed_programs; /* of awaited containers (ebpf/engine/new_groups.h) */
	uint64_t run_ns, runs; /* of the programs while their cost was measured */
	uint64_t measured_ns; /* how long it was measured, times the number of CPUs */
};

/* Loads and attaches the programs; from now on they record. The caller has set c->settings.own.
 * Returns 0, or -errno and sets e. */
int calls_program_new(const struct calls_config *c, const char *tracefs_root,
		      struct calls_program **ret, struct err_text *e);
/* No-op for NULL. */
void calls_program_free(struct calls_program *p);
/* Returns a descriptor that is readable when the ring has much to read; to be watched
 * edge-triggered. */
int calls_program_wakeup_fd(const struct calls_program *p);

/* Returns the next record, of ret_size bytes, or NULL. It is valid until it is consumed. */
const void *calls_program_peek(struct calls_program *p, uint32_t *ret_size);
void calls_program_consume(struct calls_program *p);
/* Calls fn for each call that has not ended. */
void calls_program_each_open_call(struct calls_program *p,
				  void (*fn)(void *ctx, const struct call_record *r), void *ctx);

/* To be called periodically: measures the cost in one period of ten. */
void calls_program_measure_cost(struct calls_program *p);
/* Reads the losses and the cost so far into ret. */
void calls_program_read_counts(struct calls_program *p, struct calls_counts *ret);
