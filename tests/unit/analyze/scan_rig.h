/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/trace_scan.h"
#include "unit/fixture.h"
#include "unit/message_text.h"

/* A scan of packets that are written as text. */
static struct trace_scan s;

SETUP
{
	s = (struct trace_scan){0};
}

TEARDOWN
{
	trace_scan_deinit(&s);
}

/* Scans a packet with these fields. */
#define scan(...)                                                                                  \
	do {                                                                                       \
		struct pb_mem m_;                                                                  \
                                                                                                   \
		message_make(&m_, "TracePacket", __VA_ARGS__);                                     \
		trace_scan_packet(&s, m_.buf, pb_mem_len(&m_));                                    \
		pb_mem_deinit(&m_);                                                                \
	} while (0)

/* The names of a list, with "|" in between. */
static inline const char *names_of(const struct name_list *l)
{
	static char text[4096];
	size_t n = 0;

	*text = '\0';
	for (size_t i = 0; i < l->n; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", i ? "|" : "",
				      l->names[i]);
	return text;
}

/* Events by group: "sched=48 msr=45 ". */
static inline const char *groups_of(const struct event_counts *c)
{
	static char text[4096];
	struct group_count *groups;
	size_t n, at = 0;

	*text = '\0';
	assert_int_equal(event_counts_by_group(c, &groups, &n), 0);
	for (size_t i = 0; i < n; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s=%llu ", groups[i].group,
				       (unsigned long long)groups[i].count);
	free(groups);
	return text;
}
