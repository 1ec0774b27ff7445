/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/transport/writer.h"
#include "ftrace/encode/compact_sched.h"
#include "ftrace/encode/intern_tables.h"
#include "ftrace/format/compiled_event.h"
#include "ftrace/format/ring_page.h"

/*
 * Writes one FtraceEventBundle at a time: the packet of a CPU's records since the previous one.
 * bundle_begin opens it, the page encoder writes events, bundle_end closes it. At most one is
 * open.
 *
 * On the wire: cpu, [lost_events], previous_bundle_end_timestamp, [clock], events and errors in
 * the order of the ring, compact_sched, generic_event_descriptors, further_field_descriptors. If
 * the session has symbols, the names of the numbered addresses follow in the same packet.
 */

struct symbol_table;

/* Where the packets of bundles go: begin opens one, end completes it. */
struct bundle_output {
	struct pb_enc *(*begin)(void *ctx);
	void (*end)(void *ctx);
	void *ctx; /* borrowed for the lifetime of the bundle */
};

struct bundle {
	struct bundle_output output;
	struct pb_enc *enc; /* borrowed while open, else NULL */
	struct sym_index syms;
	const struct symbol_table *symbols; /* borrowed; NULL: addresses have no names */
	struct compact_sched compact;
	uint32_t generation; /* incremented for each bundle */
	uint32_t *described; /* owned; by generic_index: latest generation that uses the event */
	/* owned array of borrowed events, in order of first use */
	const struct compiled_event **to_describe;
	size_t n_to_describe;
};

/* Returns the output that writes to a producer's writer, which is borrowed. */
struct bundle_output bundle_output_of_writer(struct writer *w);

/* Allocates b, which must be zeroed. n_generic exceeds the generic_index of every event that is
 * added. Returns 0 or -ENOMEM. */
int bundle_init(struct bundle *b, const struct bundle_output *output, size_t n_generic);
/* Raises n_generic. No bundle may be open. Returns 0, or -ENOMEM with nothing changed. */
int bundle_reserve(struct bundle *b, size_t n_generic);
/* Frees the memory of b. No bundle may be open. */
void bundle_deinit(struct bundle *b);

struct bundle_head {
	uint32_t cpu;
	bool lost; /* records were lost before the first record */
	uint64_t lost_count; /* number of records; 0: unknown */
	uint64_t previous_end; /* time of this CPU's last record in an earlier bundle, or 0 */
	const struct clock_sync *sync;
};

/* Begins a packet with a bundle. No bundle may be open. */
void bundle_begin(struct bundle *b, const struct bundle_head *head);
/* Ends the open bundle and its packet. No-op if no bundle is open. */
void bundle_end(struct bundle *b);

/* Writes an error: a record, or the rest of a page, could not be parsed. time is the time of the
 * page, or 0 if it is unknown. */
void bundle_add_error(struct bundle *b, uint64_t time, enum ring_page_status status);
/* Writes the raw bytes of a page that could not be parsed. A bundle has at most one such page. */
void bundle_add_broken_page(struct bundle *b, const void *data, size_t len);

/* Writes a range of lost records whose number is known now. */
void bundle_add_lost_range(struct bundle *b, const struct lost_range *range);

/* Notes that the bundle uses an event with a descriptor. */
static inline void bundle_add_description(struct bundle *b, const struct compiled_event *ev)
{
	if (b->described[ev->generic_index] == b->generation)
		return;
	b->described[ev->generic_index] = b->generation;
	b->to_describe[b->n_to_describe++] = ev;
}

/* Returns true if one more event may need more address numbers than are left; end the bundle then.
 * CompactSched has a limit of its own. */
static inline bool bundle_is_syms_full(const struct bundle *b)
{
	return sym_index_lacks_room_for_record(&b->syms);
}
