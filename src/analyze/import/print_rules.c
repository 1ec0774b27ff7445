/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of trace_marker that programs write as Android's atrace does:
 *
 *	B|TGID|NAME			begins a slice of the thread
 *	E				ends the thread's innermost slice
 *	I|TGID|NAME			an instant of the thread
 *	C|TGID|NAME|N			a value of a counter of the process
 *	S|TGID|NAME|COOKIE		begins an asynchronous slice of the process
 *	F|TGID|NAME|COOKIE		ends that slice
 *	G|TGID|TRACK|NAME|COOKIE	begins a slice on a track of the process with a name
 *	H|TGID|TRACK|COOKIE		ends that slice
 *	N|TGID|TRACK|NAME		an instant on a track with a name
 */
#include <errno.h>
#include <string.h>

#include "analyze/import/event_rules.h"
#include "analyze/import/remembered.h"
#include "analyze/import/slices.h"
#include "analyze/import/tracks.h"
#include "base/core/mem.h"
#include "base/text/number_read.h"
#include "gen/fields.h"

#define FIELDS_MAX 5u

static const struct track_type counter_type = {
	"atrace_counter", NULL, true, {{"upid", false}, {"name", true}}};
static const struct track_type screen_type = {"screen_state", NULL, true, {{NULL, false}}};
static const struct track_type battery_type = {
	"battery_stats", NULL, true, {{"counter_key", true}}};
static const struct track_type async_type = {
	"atrace_async_slice",
	NULL,
	false,
	{{"upid", false}, {"name", true}, {"track_compressor_idx", false}}};
static const struct track_type named_type = {
	"atrace_async_slice_for_track",
	NULL,
	false,
	{{"upid", false}, {"name", true}, {"track_compressor_idx", false}}};
/* The address of a type is part of a track's identity: instants have tracks of their own. */
static const struct track_type named_instant_type = {
	"atrace_async_slice_for_track",
	NULL,
	false,
	{{"upid", false}, {"name", true}, {"track_compressor_idx", false}}};

struct part {
	const char *s;
	size_t len;
};

struct marker {
	const char *s;
	size_t len;
	char phase;
	uint32_t tgid; /* 0: none */
	struct part rest; /* the text after TGID|; NULL: none */
	struct part parts[FIELDS_MAX]; /* of `rest`, separated by '|' */
	size_t n_parts;
};

#define NUMBER_MAX_CHARS 23

static bool print_rules_read_number(struct part p, int64_t *ret)
{
	struct span s = {p.s, p.len};

	return p.len <= NUMBER_MAX_CHARS && span_read_i64(&s, 10, ret) != -EINVAL && !s.len;
}

/* Reads a number of 32 bits as trace_processor does: a negative number wraps, one that is too large
 * becomes UINT32_MAX. */
static bool read_tgid(struct part p, uint32_t *ret)
{
	int64_t v;

	if (!print_rules_read_number(p, &v))
		return false;
	*ret = v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
	return true;
}

static void print_rules_split(struct marker *mark)
{
	const char *p = mark->rest.s, *end = mark->s + mark->len;

	while (p && mark->n_parts < FIELDS_MAX) {
		const char *bar = memchr(p, '|', (size_t)(end - p));

		mark->parts[mark->n_parts++] =
			(struct part){.s = p, .len = (size_t)((bar ? bar : end) - p)};
		p = bar ? bar + 1 : NULL;
	}
}

static bool parse_marker(struct marker *mark)
{
	const char *end = mark->s + mark->len, *bar, *rest;

	if (!mark->len)
		return false;
	mark->phase = mark->s[0];
	bar = memchr(mark->s, '|', mark->len);
	if (mark->phase == 'E' && mark->len == 1)
		return true;
	if (bar != mark->s + 1)
		return false;
	rest = memchr(bar + 1, '|', (size_t)(end - bar - 1));
	if (!read_tgid((struct part){bar + 1, (size_t)((rest ? rest : end) - bar - 1)},
		       &mark->tgid) &&
	    mark->phase != 'E')
		return false;
	if (rest)
		mark->rest = (struct part){.s = rest + 1, .len = (size_t)(end - rest - 1)};
	print_rules_split(mark);
	return true;
}

static uint32_t print_rules_intern(struct import *im, struct part p)
{
	return strings_intern(&im->store->strings, p.s, p.len);
}

/* ---- counters ---- */

static bool starts_with(struct part p, const char *with)
{
	return p.len >= strlen(with) && !memcmp(p.s, with, strlen(with));
}

/* Adds a value of a counter. Returns false if the marker is malformed. */
static bool print_rules_add_counter(struct import *im, struct machine *m,
				    const struct ftrace_event *e, const struct marker *mark)
{
	struct part name = mark->parts[0];
	int64_t v, values[2];
	uint32_t track;

	if (mark->n_parts < 2 || !name.len || !print_rules_read_number(mark->parts[1], &v))
		return false;
	values[1] = print_rules_intern(im, name);
	if (starts_with(name, "battery_stats.")) {
		track = tracks_get(im, m, &battery_type, (uint32_t)values[1], &values[1]);
	} else if (starts_with(name, "ScreenState")) {
		track = tracks_get(im, m, &screen_type, (uint32_t)values[1], NULL);
	} else {
		values[0] = tasks_get_process(&m->tasks, mark->tgid);
		track = tracks_get(im, m, &counter_type, (uint32_t)values[1], values);
		arg_builder_add_int(im->store, &im->args, "utid", ARG_UINT, e->utid);
	}
	rows_add_counter(im, e->ts, track, (double)v, arg_sets_add(im->store, &im->args));
	return true;
}

/* ---- slices of processes ---- */

/* Returns the slot for slices of the cookie among the process's tracks with the marker's first part
 * as name. Makes the slot's track. NULL if out of memory. */
static struct track_slot *get_async_slot(struct import *im, struct machine *m,
					 const struct track_type *type, const struct marker *mark,
					 int64_t cookie)
{
	int64_t values[] = {tasks_get_process(&m->tasks, mark->tgid),
			    print_rules_intern(im, mark->parts[0])};
	struct track_group *g = track_groups_get(im, m, type, values);
	struct track_slot *slot = g ? track_group_get_slot(im, g, cookie) : NULL;

	if (slot && slot->track == NULL_U32)
		track_group_make_track(im, m, g, slot, (uint32_t)values[1]);
	return slot;
}

/* Begins (S) or ends (F) an asynchronous slice. An S whose slice is open already is only counted. F
 * adds the count as an argument. The count belongs to the track, and is not reset for its next
 * slice. Returns false if the marker is malformed. */
static bool add_async_slice(struct import *im, struct machine *m, const struct ftrace_event *e,
			    const struct marker *mark)
{
	int64_t cookie, *begins, *last;
	struct track_slot *slot;

	if (mark->n_parts < 2 || !mark->parts[0].len ||
	    !print_rules_read_number(mark->parts[1], &cookie))
		return false;
	slot = get_async_slot(im, m, &async_type, mark, cookie);
	begins = slot ? import_remembered(im, m, REMEMBER_MARKER_BEGINS, slot->track) : NULL;
	last = begins ? import_remembered(im, m, REMEMBER_MARKER_LAST, slot->track) : NULL;
	if (!last)
		return true;
	if (mark->phase == 'S') {
		*last = e->ts;
		(*begins)++;
		if (slot->open)
			return true;
		slot->open = 1;
		arg_builder_add_int(im->store, &im->args, "cookie", ARG_INT, cookie);
		slices_begin(im, e->ts, -1, slot->track, NULL_U32,
			     print_rules_intern(im, mark->parts[0]), &im->args);
		return true;
	}
	if (*begins) {
		arg_builder_add_int(im->store, &im->args, "legacy_unnestable_begin_count", ARG_INT,
				    *begins);
		arg_builder_add_int(im->store, &im->args, "legacy_unnestable_last_begin_ts",
				    ARG_INT, *last);
	}
	track_slot_set_open(slot, 0);
	slices_end(im, e->ts, slot->track, NULL_U32, NULL_U32, &im->args);
	return true;
}

/* Begins (G) or ends (H) a slice on a named track. Slices of one cookie nest. Returns false if the
 * marker is malformed. */
static bool add_track_slice(struct import *im, struct machine *m, const struct ftrace_event *e,
			    const struct marker *mark)
{
	struct track_slot *slot;
	int64_t cookie;

	if (mark->n_parts < 2 || !mark->parts[0].len)
		return false;
	if (mark->phase == 'G' && (mark->n_parts < 3 || !mark->parts[1].len ||
				   !print_rules_read_number(mark->parts[2], &cookie)))
		return false;
	if (mark->phase == 'H' &&
	    !print_rules_read_number(mark->parts[mark->n_parts > 2 ? 2 : 1], &cookie))
		return false;
	slot = get_async_slot(im, m, &named_type, mark, cookie);
	if (!slot)
		return true;
	if (mark->phase == 'G') {
		slot->open++;
		arg_builder_add_int(im->store, &im->args, "utid", ARG_UINT, e->utid);
		slices_begin(im, e->ts, -1, slot->track, NULL_U32,
			     print_rules_intern(im, mark->parts[1]), &im->args);
	} else {
		track_slot_set_open(slot, slot->open - (slot->open != 0));
		arg_builder_add_int(im->store, &im->args, "end_utid", ARG_UINT, e->utid);
		slices_end(im, e->ts, slot->track, NULL_U32, NULL_U32, &im->args);
	}
	return true;
}

static bool add_instant(struct import *im, struct machine *m, const struct ftrace_event *e,
			const struct marker *mark)
{
	struct track_slot *slot;

	if (mark->n_parts < 2 || !mark->parts[0].len || !mark->parts[1].len)
		return false;
	slot = get_async_slot(im, m, &named_instant_type, mark, 0);
	if (!slot)
		return true;
	arg_builder_add_int(im->store, &im->args, "utid", ARG_UINT, e->utid);
	slices_begin(im, e->ts, 0, slot->track, NULL_U32, print_rules_intern(im, mark->parts[1]),
		     &im->args);
	return true;
}

/* ---- slices of threads ---- */

/* Begins (B), ends (E) or adds (I) a slice of the thread. Returns false if the marker is
 * malformed. */
static bool add_thread_slice(struct import *im, struct machine *m, const struct ftrace_event *e,
			     const struct marker *mark)
{
	uint32_t utid, track, name;

	if (mark->phase == 'I' && !mark->rest.len)
		return false;
	utid = mark->tgid ? tasks_get_thread_of_process(&m->tasks, e->tid, mark->tgid)
			  : tasks_get_thread(&m->tasks, e->tid);
	track = tracks_get_thread_track(im, m, utid);
	if (mark->phase == 'E') {
		slices_end(im, e->ts, track, NULL_U32, NULL_U32, NULL);
		return true;
	}
	name = mark->rest.len ? print_rules_intern(im, mark->rest)
			      : strings_intern_z(&im->store->strings, "[empty slice name]");
	slices_begin(im, e->ts, mark->phase == 'I' ? 0 : -1, track, NULL_U32, name, NULL);
	return true;
}

/* Adds the rows of a marker. Returns false if the line is not a valid one. */
static bool add_marker_rows(struct import *im, struct machine *m, const struct ftrace_event *e,
			    const struct marker *mark)
{
	switch (mark->phase) {
	case 'B':
	case 'E':
	case 'I':
		return add_thread_slice(im, m, e, mark);
	case 'C':
		return print_rules_add_counter(im, m, e, mark);
	case 'S':
	case 'F':
		return add_async_slice(im, m, e, mark);
	case 'G':
	case 'H':
		return add_track_slice(im, m, e, mark);
	case 'N':
		return add_instant(im, m, e, mark);
	}
	return false;
}

static void handle_print(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	static const char clock_sync[] = "trace_event_clock_sync:";
	struct marker mark = {.s = NULL};

	slice_rules_cut_write(im, m, e->ts, e->utid);
	pb_for_each (f, &e->message)
		if (f.id == PB_PRINT_FTRACE_EVENT_BUF && f.data) {
			mark.s = (const char *)f.data;
			mark.len = f.len;
		}
	while (mark.len && (mark.s[mark.len - 1] == '\n' || mark.s[mark.len - 1] == '\0'))
		mark.len--;
	if (mark.len >= strlen(clock_sync) && !memcmp(mark.s, clock_sync, strlen(clock_sync)))
		return;
	if (!mark.s || !parse_marker(&mark) || !add_marker_rows(im, m, e, &mark))
		stats_add(im->store, STAT_SYSTRACE_PARSE_FAILURE, STAT_NO_INDEX, 1);
}

const struct event_rule print_rules[] = {
	{PB_FTRACE_EVENT_PRINT, handle_print, NULL},
	{0, NULL, NULL},
};
