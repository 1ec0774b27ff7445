/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ftrace/encode/bundle.h"
#include "ftrace/events/compat_syscalls.h"
#include "ftrace/encode/event_encode.h"
#include "ftrace/events/event_table.h"
#include "ftrace/format/ring_page.h"

/*
 * Pages of one session into bundles: the loop between ring_page.h and the encoders. Allocates nothing
 * but when it is made and refitted.
 *
 * A page that breaks the ring's format costs the rest of that page, a record that breaks its own
 * costs that record or field; both are told in the bundle and counted by reason.
 */

#define BROKEN_PAGES_KEPT 8 /* for broken_left, with debug_ftrace_abi */
#define BUNDLE_MAX_BYTES (128u << 10) /* of ring: a lost chunk costs not more than one bundle */

/* What outlives a bundle, for each CPU. */
struct cpu_stream {
	uint32_t cpu;
	uint32_t bytes; /* of ring, in the open bundle */
	uint64_t end_time; /* of the last record written; 0: none yet */
	uint64_t events; /* records written */
	uint64_t left_out; /* records that were read and are not for the trace */
	uint64_t lost; /* records that the kernel said it lost, where it told a number */
	bool gap; /* records before the next one are lost, nobody knows how many */
};

struct page_encoder {
	const struct event_table *table; /* borrowed */
	struct ring_page_layout layout;
	struct encode_ctx ctx; /* set tids and news between pages, as somebody wants to know */
	struct clock_sync sync; /* set between pages */
	struct compat_syscalls
		*calls; /* borrowed, set before the first page; where there is a ROW_CALL */
	uint8_t *scratch; /* owned: for an event that does not fit what is left of a chunk */
	uint64_t status_counts[RING_PAGE_STATUS_COUNT];
	bool lost; /* records are missing somewhere: overwritten, or in a broken page */
	uint64_t unknown; /* records whose id is not in the table */
	unsigned broken_left; /* so many more broken pages go into the trace as they are */
	struct bundle bundle;
};

/* New translator for the events of a table. 0 or -ENOMEM. */
int page_encoder_new(const struct event_table *table, const struct ring_page_layout *layout,
		     struct writer *writer, struct page_encoder **ret);
/* Addresses of functions get names from here on; NULL: none. Borrowed until it is called again. */
void page_encoder_set_symbols(struct page_encoder *t, const struct symbol_table *symbols);
/* NULL is fine. */
struct page_encoder *page_encoder_free(struct page_encoder *t);
/* Makes room for events that have been added to the table: before their first record, and with no
 * bundle open. 0, or -ENOMEM: then only those go on that were there before. */
int page_encoder_refit(struct page_encoder *t);

/* One page as it was read; gives the bytes of records in it, len where that cannot be told. The open
 * bundle, if there is one, is this CPU's. */
uint32_t page_encode(struct page_encoder *t, struct cpu_stream *cpu, const void *page, size_t len);

/* One of several that take the records of the same page, each by its own table into a bundle of its
 * own; no two have the same writer. */
struct page_encode_target {
	struct page_encoder *t;
	struct cpu_stream *cpu;
	enum ring_page_status bad; /* of the page; the walk's own */
};

/* The same for one or more of the same layout: the page is walked once. */
struct ring_page_facts page_encode_to(struct page_encode_target *to, unsigned n, const void *page,
				      size_t len);

/* Into the bundles of all of them: what is missing in the ring of this CPU. */
void page_encode_lost_range(struct page_encode_target *to, unsigned n,
			    const struct lost_range *range);

/* No more pages of this CPU for now: ends its bundle. */
void page_encode_end(struct page_encoder *t, struct cpu_stream *cpu);
