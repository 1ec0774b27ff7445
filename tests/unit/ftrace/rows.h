/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ftrace/events/event_table.h"
#include "unit/ftrace/formats.h"
#include "unit/test.h"

/* Adds an event with these fields behind the common ones; returns what event_table_add() does. */
static inline int try_row(struct event_table *t, const char *group, const char *name, unsigned id,
			  const char *fields, struct event_table_options options)
{
	uint16_t got = 0;
	int r = event_table_add(t, group, name, format_text(name, id, FORMAT_COMMON, fields),
				&options, &got);

	if (!r)
		assert_int_equal(got, id);
	return r;
}

static inline void add_row(struct event_table *t, const char *group, const char *name, unsigned id,
			   const char *fields, struct event_table_options options)
{
	assert_int_equal(try_row(t, group, name, id, fields, options), 0);
}

/* The event that most tests of pages record. */
static inline void add_wait(struct event_table *t, unsigned id)
{
	add_row(t, "sched", "sched_process_wait", id, FIELD("pid_t pid", 8, 4, 1),
		(struct event_table_options){0});
}
