/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ftrace/bundle.h"
#include "ftrace/event_encode.h"
#include "ftrace/event_table.h"
#include "ftrace/page.h"

/*
 * Pages of one session into bundles: the loop between page.h and the encoders. Allocates nothing
 * after init.
 *
 * A page that breaks the ring's format costs the rest of that page, a record that breaks its own
 * costs that record or field; both are told in the bundle and counted by reason.
 */

#define BUNDLE_MAX_PAGES 32 /* a lost chunk costs not more than one bundle */

/* What outlives a bundle, for each CPU. */
struct cpu_stream {
	uint32_t cpu;
	uint32_t pages; /* in the open bundle */
	uint64_t end_time; /* of the last record written; 0: none yet */
	uint64_t events; /* records written */
	uint64_t lost; /* records that the kernel said it lost, where it told a number */
};

struct translator {
	const struct event_table *table; /* borrowed */
	struct page_layout layout;
	struct encode_ctx ctx; /* set tids and renamed between pages, as somebody wants to know */
	struct clock_sync sync; /* set between pages */
	uint8_t *scratch; /* owned: for an event that does not fit what is left of a chunk */
	uint64_t status_counts[PAGE_STATUS_COUNT];
	uint64_t unknown; /* records whose id is not in the table */
	struct bundle bundle;
};

/* New translator for the events of a table, which is complete. 0 or -ENOMEM. */
int translator_new(const struct event_table *table, const struct page_layout *layout,
		   struct writer *writer, struct translator **ret);
/* NULL is fine. */
struct translator *translator_free(struct translator *t);

/* One page as it was read; gives the bytes of records in it. The open bundle, if there is one, is
 * this CPU's. */
uint32_t translate_page(struct translator *t, struct cpu_stream *cpu, const void *page, size_t len);
/* No more pages of this CPU for now: ends its bundle. */
void translate_end(struct translator *t, struct cpu_stream *cpu);
