/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of trace_marker that programs write as Android's atrace does:
 *
 *	B|TGID|NAME	begins a slice of the thread	I|TGID|NAME	an instant of the thread
 *	E		ends it				C|TGID|NAME|N	a value of a counter of the process
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/import/slice_rules.h"
#include "analyze/import/slices.h"
#include "analyze/import/tracks.h"
#include "base/core/mem.h"
#include "gen/fields.h"

static const struct track_type counter_type = {
	"atrace_counter", NULL, true, {{"upid", false}, {"name", true}}};

struct marker {
	const char *s;
	size_t len;
	char phase;
	int64_t tgid;
	const char *name; /* NULL: none */
	size_t name_len;
};

static bool read_number(const char *s, size_t len, int64_t *ret)
{
	char text[24], *end;

	if (!len || len >= sizeof(text))
		return false;
	memcpy(text, s, len);
	text[len] = '\0';
	*ret = strtoll(text, &end, 10);
	return end != text && !*end;
}

static bool read_marker(struct marker *mark)
{
	const char *end = mark->s + mark->len, *bar, *name;

	if (!mark->len)
		return false;
	mark->phase = mark->s[0];
	bar = memchr(mark->s, '|', mark->len);
	if (mark->phase == 'E')
		return mark->len == 1 || bar == mark->s + 1;
	if (bar != mark->s + 1)
		return false;
	name = memchr(bar + 1, '|', (size_t)(end - bar - 1));
	if (!read_number(bar + 1, (size_t)((name ? name : end) - bar - 1), &mark->tgid))
		return false;
	mark->name = name ? name + 1 : NULL;
	mark->name_len = name ? (size_t)(end - name - 1) : 0;
	return true;
}

static uint32_t name_of(struct import *im, const char *s, size_t len)
{
	return len ? strings_intern(&im->store->strings, s, len)
		   : strings_intern_z(&im->store->strings, "[empty slice name]");
}

static bool add_counter(struct import *im, struct machine *m, const struct ftrace_event *e,
			const struct marker *mark)
{
	const char *bar = mark->name ? memchr(mark->name, '|', mark->name_len) : NULL;
	const char *end = mark->s + mark->len;
	int64_t v, values[2];
	uint32_t track;

	if (!bar)
		return false;
	for (const char *more = bar + 1; more < end && *more != '|'; more++)
		if (more + 1 == end || more[1] == '|')
			end = more + 1;
	if (!read_number(bar + 1, (size_t)(end - bar - 1), &v))
		return false;
	values[0] = tasks_process(&m->tasks, mark->tgid);
	values[1] = strings_intern(&im->store->strings, mark->name, (size_t)(bar - mark->name));
	track = tracks_get(im, m, &counter_type, (uint32_t)values[1], values);
	arg_builder_int(im->store, &im->args, "utid", ARG_UINT, e->utid);
	rows_counter(im, e->ts, track, (double)v, arg_sets_add(im->store, &im->args));
	return true;
}

/* Returns false for a line that is no marker, or of a kind that is not imported. */
static bool add_rows(struct import *im, struct machine *m, const struct ftrace_event *e,
		     const struct marker *mark)
{
	uint32_t track;

	if (mark->phase == 'C')
		return add_counter(im, m, e, mark);
	if (memchr("SFGHN", mark->phase, 5)) /* of asynchronous tracks: not imported */
		return true;
	if (mark->phase != 'B' && mark->phase != 'E' && mark->phase != 'I')
		return false;
	if (mark->phase != 'E' && !mark->name)
		return false;
	if (mark->tgid > 0)
		tasks_thread_of(&m->tasks, e->tid, mark->tgid);
	track = slice_rules_thread_track(im, m, tasks_thread(&m->tasks, e->tid));
	if (mark->phase == 'E')
		slices_end(im, e->ts, track, NULL_U32, NULL_U32, NULL);
	else
		slices_begin(im, e->ts, mark->phase == 'I' ? 0 : -1, track, NULL_U32,
			     name_of(im, mark->name, mark->name_len), NULL);
	return true;
}

void print_event(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	static const char clock_sync[] = "trace_event_clock_sync:";
	struct marker mark = {.s = NULL};
	struct pb_field f;
	struct pb_dec d;

	slice_rules_cut_write(im, m, e->ts, e->utid);
	pb_dec_init(&d, e->data, e->len);
	while (pb_dec_next(&d, &f))
		if (f.id == PB_PRINT_FTRACE_EVENT_BUF && f.data) {
			mark.s = (const char *)f.data;
			mark.len = f.len;
		}
	while (mark.len && (mark.s[mark.len - 1] == '\n' || mark.s[mark.len - 1] == '\0'))
		mark.len--;
	if (mark.len >= strlen(clock_sync) && !memcmp(mark.s, clock_sync, strlen(clock_sync)))
		return;
	if (!mark.s || !read_marker(&mark) || !add_rows(im, m, e, &mark))
		stats_add(im->store, STAT_SYSTRACE_PARSE_FAILURE, STAT_NO_INDEX, 1);
}
