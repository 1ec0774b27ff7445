/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ftrace/encode/bundle.h"
#include "ftrace/encode/event_encode.h"
#include "ftrace/encode/subject_sched.h"
#include "ftrace/events/compat_syscalls.h"
#include "ftrace/events/event_table.h"
#include "ftrace/format/ring_page.h"

/*
 * Encodes ring pages of one session to bundles: the loop between ring_page.h and the encoders.
 * Allocates memory only in page_encoder_new and page_encoder_reserve.
 *
 * A malformed page loses the rest of the page; a malformed record loses that record or field. The
 * errors are written to the bundle and counted by reason.
 */

#define BROKEN_PAGES_KEPT 8 /* limit of broken_left, with debug_ftrace_abi */
#define BUNDLE_MAX_BYTES (128u << 10) /* ring bytes; a lost chunk loses at most one bundle */

/* State of each CPU that outlives a bundle. */
struct cpu_stream {
	uint32_t cpu;
	uint32_t bytes; /* ring bytes in the open bundle */
	uint64_t end_time; /* end of the last record written; 0: none yet */
	uint64_t events; /* records written */
	uint64_t left_out; /* records that were read but not written */
	uint64_t lost; /* lost records as counted by the kernel */
	bool gap; /* an unknown number of records was lost before the next one */
	struct subject_cpu subject; /* for COMPILED_SUBJECT_... */
};

struct page_encoder {
	const struct event_table *table; /* borrowed */
	struct ring_page_layout layout;
	struct encode_ctx ctx; /* set tids and metadata between pages if there is a subscriber */
	struct clock_sync sync; /* set between pages */
	/* borrowed, set before the first page; NULL: not used */
	struct compat_syscalls *calls;
	uint8_t *scratch; /* owned: for an event that does not fit in the rest of a chunk */
	uint64_t status_counts[RING_PAGE_STATUS_COUNT];
	bool lost; /* records were lost: overwritten, or in a malformed page */
	uint64_t unknown; /* records whose id is not in the table */
	unsigned broken_left; /* malformed pages that may still be written raw */
	struct subject_threads threads; /* owned; for COMPILED_SUBJECT_... */
	struct bundle bundle;
};

/* Allocates an encoder. table and writer are borrowed. Returns 0 or -ENOMEM. */
int page_encoder_new(const struct event_table *table, const struct ring_page_layout *layout,
		     struct writer *writer, struct page_encoder **ret);
/* Like page_encoder_new(), for a reader of files, which has no writer. */
int page_encoder_new_with_output(const struct event_table *table,
				 const struct ring_page_layout *layout,
				 const struct bundle_output *output, struct page_encoder **ret);
/* Sets the names for addresses of functions; NULL: none. Borrowed until the next call. */
void page_encoder_set_symbols(struct page_encoder *t, const struct symbol_table *symbols);
/* NULL is allowed. */
struct page_encoder *page_encoder_free(struct page_encoder *t);
/* Makes room for events that were added to the table. Call it before their first record and
 * without an open bundle. Returns 0, or -ENOMEM; then only the earlier events are encoded. */
int page_encoder_reserve(struct page_encoder *t);

/* Encodes one page. Returns the number of bytes of its records, or len if that is unknown. An open
 * bundle must be one of this CPU. */
uint32_t page_encode(struct page_encoder *t, struct cpu_stream *cpu, const void *page, size_t len);

/* Encodes a record that does not come from a page: at least 2 bytes, at most layout.size. An open
 * bundle must be one of this CPU. */
void page_encode_record(struct page_encoder *t, struct cpu_stream *cpu,
			const struct ring_record *r);
/* Ends the open bundle, and notes in the next one that records of this CPU were lost before it.
 * count 0: unknown. */
void page_encode_add_lost(struct page_encoder *t, struct cpu_stream *cpu, uint64_t count);

/* One of several encoders of the same page. Each has its own table and bundle, and no two have the
 * same writer. */
struct page_encode_target {
	struct page_encoder *t;
	struct cpu_stream *cpu;
	enum ring_page_status bad; /* status of its own records of the page */
};

/* Encodes the page for n targets of the same layout, in one pass over its records. */
struct ring_page_facts page_encode_for_targets(struct page_encode_target *to, unsigned n,
					       const void *page, size_t len);

/* Writes a range of lost records of this CPU to the bundles of all targets. */
void page_encode_lost_range(struct page_encode_target *to, unsigned n,
			    const struct lost_range *range);

/* Ends the bundle. Call it when no more pages of this CPU are read for now. */
void page_encode_end(struct page_encoder *t, struct cpu_stream *cpu);
