/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "gen/fields.h"
#include "unit/ftrace/fake_writer.h"
#include "unit/message_fields.h"

/* The bundles of a fake writer's trace, taken apart. */
#define BUNDLES_MAX 4096
struct bundle_view {
	struct pb_field whole, compact, broken_page;
	unsigned events, descriptors;
	unsigned names; /* of the intern table */
};

static struct bundle_view bundles[BUNDLES_MAX];
static unsigned n_bundles;

/* How many fields of that number a message has; *ret (if not NULL) is the last one. */
static inline unsigned bundle_fields(const struct pb_field *m, uint32_t id, struct pb_field *ret)
{
	unsigned n = 0;

	if (ret)
		*ret = (struct pb_field){0};
	for_each_valid_field (f, m) {
		if (f.id != id)
			continue;
		n++;
		if (ret)
			*ret = f;
	}
	return n;
}

/* The number in the last one; 0: there is none. */
static inline uint64_t bundle_number(const struct pb_field *m, uint32_t id)
{
	struct pb_field f;

	bundle_fields(m, id, &f);
	return f.u64;
}

static inline struct bundle_view bundle_take(const struct pb_field *m)
{
	struct bundle_view b = {.whole = *m};

	b.events = bundle_fields(m, PB_FTRACE_EVENT_BUNDLE_EVENT, NULL);
	b.descriptors = bundle_fields(m, PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTORS, NULL);
	assert(bundle_fields(m, PB_FTRACE_EVENT_BUNDLE_BROKEN_ABI_TRACE_PAGE, &b.broken_page) <= 1);
	bundle_fields(m, PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED, &b.compact);
	b.names =
		bundle_fields(&b.compact, PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_INTERN_TABLE, NULL);
	return b;
}

/* Fills bundles[] from the trace. */
static inline void bundles_read(const struct writer *w)
{
	n_bundles = 0;
	for_each_valid_field (packet, PB_BYTES(w->begin, fake_writer_len(w)))
		for_each_valid_field (f, &packet)
			if (f.id == PB_TRACE_PACKET_FTRACE_EVENTS) {
				assert(n_bundles < BUNDLES_MAX);
				bundles[n_bundles++] = bundle_take(&f);
			}
}

/* The values of a column; gives their number. */
static inline unsigned bundle_column(const struct bundle_view *b, uint32_t id, uint64_t *values)
{
	struct pb_packed p;
	struct pb_field f;
	unsigned n = 0;

	if (!bundle_fields(&b->compact, id, &f))
		return 0;
	p = pb_packed_of(&f);
	while (pb_packed_next(&p, &values[n]))
		n++;
	return n;
}

/* The i-th name of the intern table, as a field. */
static inline struct pb_field bundle_name(const struct bundle_view *b, unsigned i)
{
	pb_for_each (f, &b->compact)
		if (f.id == PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_INTERN_TABLE && i-- == 0)
			return f;
	return (struct pb_field){0};
}

/* All bundles as text, what is 0 left out:
 * "cpu 1 after 1000 lost 77 events 2 | cpu 1 after 2000 gap 1200-2000 (77) errors 2 at 3000
 * ...". */
static inline const char *bundles_text(void)
{
	static char text[4096];
	FILE *out = fmemopen(text, sizeof(text), "w");

	for (const struct bundle_view *b = bundles; b < bundles + n_bundles; b++) {
		const struct pb_field *w = &b->whole;
		uint64_t after =
			bundle_number(w, PB_FTRACE_EVENT_BUNDLE_PREVIOUS_BUNDLE_END_TIMESTAMP);
		struct pb_field f;
		unsigned n;

		fprintf(out, "%scpu %" PRIu64, b > bundles ? " | " : "",
			bundle_number(w, PB_FTRACE_EVENT_BUNDLE_CPU));
		if (after)
			fprintf(out, " after %" PRIu64, after);
		if (bundle_fields(w, PB_FTRACE_EVENT_BUNDLE_LOST_EVENTS, NULL))
			fprintf(out, " lost %" PRIu64,
				bundle_number(w, PB_FTRACE_EVENT_BUNDLE_LOST_EVENT_COUNT));
		if (bundle_fields(w, PB_FTRACE_EVENT_BUNDLE_LOST_RANGES, &f))
			fprintf(out, " gap %" PRIu64 "-%" PRIu64 " (%" PRIu64 ")",
				bundle_number(&f, 1), bundle_number(&f, 2), bundle_number(&f, 3));
		if (b->events)
			fprintf(out, " events %u", b->events);
		if (b->names)
			fprintf(out, " names %u", b->names);
		if (b->descriptors)
			fprintf(out, " descriptors %u", b->descriptors);
		n = bundle_fields(w, PB_FTRACE_EVENT_BUNDLE_ERROR, &f);
		if (n)
			fprintf(out, " errors %u at %" PRIu64, n,
				bundle_number(&f, PB_FTRACE_EVENT_BUNDLE_FTRACE_ERROR_TIMESTAMP));
		if (b->broken_page.data)
			fprintf(out, " page %zu", b->broken_page.len);
	}
	fclose(out);
	return n_bundles ? text : "";
}

#define assert_bundles(want) assert_string_equal(bundles_text(), want)
