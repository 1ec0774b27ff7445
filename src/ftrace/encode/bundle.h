/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/transport/writer.h"
#include "ftrace/encode/compact_sched.h"
#include "ftrace/format/compiled_event.h"
#include "ftrace/format/ring_page.h"
#include "ftrace/encode/intern_tables.h"

/*
 * One FtraceEventBundle at a time: the packet of a CPU's records since the last one. Opened by
 * bundle_begin, written by whoever has records, closed by bundle_end. Not more than one is open.
 *
 * On the wire: cpu, [lost_events], previous_bundle_end_timestamp, [clock], events and errors in the
 * order of the ring, compact_sched, generic_event_descriptors, further_field_descriptors; in the
 * packet behind it, where there are symbols, the names of the addresses that the bundle numbers.
 */

/* The same moment on the trace clock and on the boot clock, in ns. */
struct clock_sync {
	enum ftrace_clock clock;
	uint64_t ftrace_ns;
	uint64_t boot_ns;
};

struct symbol_table;

struct bundle {
	struct writer *writer; /* borrowed for the bundle's life */
	struct pb_enc *enc; /* borrowed while open, else NULL */
	struct sym_index syms;
	const struct symbol_table *symbols; /* borrowed; NULL: addresses get no names */
	struct compact_sched compact;
	uint32_t generation; /* counts bundles */
	uint32_t *described; /* owned: generation by generic_index */
	const struct compiled_event **to_describe; /* owned: borrowed rows, in order of first use */
	size_t n_to_describe;
};

/* n_generic: rows with a generic_index below it will come. On zeroed memory; 0 or -ENOMEM. */
int bundle_init(struct bundle *b, struct writer *writer, size_t n_generic);
/* There will be so many of them from now on, and not fewer than before. No bundle is open. 0, or
 * -ENOMEM with nothing changed. */
int bundle_reserve(struct bundle *b, size_t n_generic);
/* No bundle is open. */
void bundle_deinit(struct bundle *b);

struct bundle_head {
	uint32_t cpu;
	bool lost; /* records were lost before the first one */
	uint64_t lost_count; /* how many; 0: the kernel could not tell */
	uint64_t previous_end; /* time of this CPU's last record in an earlier bundle, or 0 */
	const struct clock_sync *sync;
};

void bundle_begin(struct bundle *b, const struct bundle_head *head);
/* Nothing happens when none is open. */
void bundle_end(struct bundle *b);

/* The rest of a page was unreadable, or a record of it. time: the page's, 0 when unknown. */
void bundle_error(struct bundle *b, uint64_t time, enum ring_page_status status);
/* That page, as it was read; one in a bundle. */
void bundle_broken_page(struct bundle *b, const void *data, size_t len);

/* The number of records that are missing there is known now. */
void bundle_lost_range(struct bundle *b, const struct lost_range *range);

/* This bundle uses a row with a descriptor. */
static inline void bundle_describe(struct bundle *b, const struct compiled_event *ev)
{
	if (b->described[ev->generic_index] == b->generation)
		return;
	b->described[ev->generic_index] = b->generation;
	b->to_describe[b->n_to_describe++] = ev;
}

/* The addresses of one more event may find no number: end it. The columns tell by themselves. */
static inline bool bundle_syms_full(const struct bundle *b)
{
	return sym_index_full(&b->syms);
}
