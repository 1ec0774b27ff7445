/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/live/live_types.h"

/*
 * The counters of a session that is being recorded, as rates: packets go in as they arrive, and
 * live_end_period() computes the rates since the last screen.
 *
 *	live_new(&setup, &l)
 *	live_add_packet(l, data, len) ...     of linux.ebpf_counters, process_stats and sys_stats
 *	live_end_period(l)                    rates of live_machine() and live_each_process()
 *
 * Times are CLOCK_BOOTTIME in ns, as in the packets. Not thread-safe.
 */
struct live;

/* Returns 0 or -ENOMEM. */
int live_new(const struct live_setup *setup, struct live **ret);
void live_free(struct live *l);

/* Adds a TracePacket. Its bytes are untrusted. */
void live_add_packet(struct live *l, const uint8_t *data, size_t len);

/* Ends a period: computes the rates from the values that came since the last call. Returns false
 * if no counter has a value of this period yet; then nothing changed. */
bool live_end_period(struct live *l);

/* Return a part of l, valid until the next call of live_add_packet() or live_end_period(). */
const struct live_machine *live_machine(const struct live *l);
const struct live_losses *live_losses(const struct live *l);
/* Returns what linux.ebpf_counters could not do, one sentence a line; "" if there is nothing. */
const char *live_ebpf_failures(const struct live *l);
/* Returns true if processes have, and will have, no CPU time from eBPF programs. */
bool live_is_cpu_time_missing(const struct live *l);
/* Returns true if no eBPF family lists the processes: they must come from linux.process_stats. */
bool live_are_processes_missing(const struct live *l);
/* Returns true if a source has listed the processes. A list of active processes only (only_some) is
 * empty when all are idle: then any value of linux.ebpf_counters suffices. */
bool live_has_processes(const struct live *l);
/* Returns true if the last screen repeats the values of processes from the screen before, because
 * no poll of them had come since. *ret_at: the time of that poll. */
bool live_is_stale(const struct live *l, uint64_t *ret_at);
/* Returns the time of the last value of any source; 0: none yet. */
uint64_t live_newest_time(const struct live *l);

/* Calls fn with each group, or each program. g is valid during the call. */
void live_each_group(const struct live *l, enum live_grouping kind,
		     void (*fn)(void *ctx, const struct live_group *g), void *ctx);
/* Returns the control group with this id, valid until the next call of live_add_packet() or
 * live_end_period(); NULL: unknown. */
const struct live_group *live_find_group(const struct live *l, uint64_t id);
/* Returns the name of the file if a program was started by its path, which is a part of name. */
const char *live_program_name(const char *name);

/* Calls fn with each process that exists, in no order. p is valid during the call. */
void live_each_process(const struct live *l, void (*fn)(void *ctx, const struct live_process *p),
		       void *ctx);
