/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded stacks of slices and of states, as flamegraph.pl and speedscope read them:
 * "frame;frame;frame NUMBER", here nanoseconds. Those of call stacks are in export_stacks.c.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/hash_table.h"
#include "base/core/mem.h"
#include "base/text/str.h"
#include "cli/export/export.h"

struct stack_sum {
	int64_t ns;
	UT_hash_handle hh;
	char text[];
};

#define MAX_DEPTH 512

struct frame {
	size_t len; /* of the stack's text up to here */
	int64_t end, self;
};

struct folding {
	struct stack_sum *sums; /* owned hash */
	struct strbuf text; /* the stack that is open */
	struct frame open[MAX_DEPTH];
	size_t n;
	bool failed; /* no memory */
};

static void add_to_stack_sum(struct folding *f, int64_t ns)
{
	struct stack_sum *s;

	if (ns <= 0 || !f->text.s)
		return;
	HASH_FIND(hh, f->sums, f->text.s, (unsigned)f->text.len, s);
	if (!s) {
		s = calloc(1, sizeof(*s) + f->text.len + 1);
		if (!s) {
			f->failed = true;
			return;
		}
		memcpy(s->text, f->text.s, f->text.len);
		HASH_ADD(hh, f->sums, text, (unsigned)f->text.len, s);
		if (!s->hh.tbl) {
			free(s);
			f->failed = true;
			return;
		}
	}
	if (__builtin_add_overflow(s->ns, ns, &s->ns))
		s->ns = INT64_MAX;
}

static void write_and_free_stack_sums(struct folding *f, FILE *to)
{
	struct stack_sum *s, *next;

	HASH_ITER (hh, f->sums, s, next) {
		fprintf(to, "%s %" PRId64 "\n", s->text, s->ns);
		HASH_DEL(f->sums, s);
		free(s);
	}
	strbuf_deinit(&f->text);
}

static void truncate_stack(struct folding *f, size_t len)
{
	f->text.len = len;
	if (f->text.s)
		f->text.s[len] = '\0';
}

/* Closes the slices that end at or before ts. Time that their children did not use is their own. */
static void close_ended_slices(struct folding *f, int64_t ts, size_t base)
{
	while (f->n && f->open[f->n - 1].end <= ts) {
		add_to_stack_sum(f, f->open[f->n - 1].self);
		f->n--;
		truncate_stack(f, f->n ? f->open[f->n - 1].len : base);
	}
}

/* Adds a row (track, ts, dur, name, process, thread); rows come by track, time and depth. An open
 * slice (-1) has no time of its own. */
static void export_folded_add_slice(struct folding *f, sqlite3_stmt *st, int64_t *track,
				    size_t *base)
{
	int64_t ts = sqlite3_column_int64(st, 1), dur = sqlite3_column_int64(st, 2), end;
	bool open = dur < 0;

	if (sqlite3_column_int64(st, 0) != *track) {
		close_ended_slices(f, INT64_MAX, *base);
		*track = sqlite3_column_int64(st, 0);
		strbuf_clear(&f->text);
		export_folded_add_frame(&f->text, (const char *)sqlite3_column_text(st, 4), true);
		export_folded_add_frame(&f->text, (const char *)sqlite3_column_text(st, 5), false);
		*base = f->text.len;
	}
	close_ended_slices(f, ts, *base);
	if (f->n == MAX_DEPTH)
		return;
	/* Times of a trace are not to be trusted: an end may be out of range, a child longer than
	 * its parent. */
	if (f->n && !open && f->open[f->n - 1].self > 0)
		f->open[f->n - 1].self -= dur;
	if (open || __builtin_add_overflow(ts, dur, &end))
		end = INT64_MAX;
	export_folded_add_frame(&f->text, (const char *)sqlite3_column_text(st, 3), false);
	f->open[f->n++] = (struct frame){
		.len = f->text.len,
		.end = end,
		.self = open ? 0 : dur,
	};
	f->failed |= f->text.failed;
}

int export_folded_slices(const struct trace_tables *t, FILE *to)
{
	struct folding *f = calloc(1, sizeof(*f));
	int64_t track = -1;
	size_t base = 0;
	sqlite3_stmt *st;
	int r;

	if (!f)
		return SQLITE_NOMEM;
	r = sqlite3_prepare_v2(
		t->db,
		"select s.track_id, s.ts, s.dur, s.name, coalesce(p.name, q.name, t.name, "
		"'(machine)'), coalesce(h.name || ' ' || h.tid, t.name, t.type) from "
		"__intrinsic_slice s join __intrinsic_track t on t.id = s.track_id left join "
		"thread h on h.utid = t.utid left join process p on p.upid = h.upid left join "
		"process q on q.upid = t.upid order by s.track_id, s.ts, s.depth, s.id",
		-1, &st, NULL);
	while (r == SQLITE_OK && (r = sqlite3_step(st)) == SQLITE_ROW) {
		export_folded_add_slice(f, st, &track, &base);
		r = SQLITE_OK;
	}
	close_ended_slices(f, INT64_MAX, base);
	sqlite3_finalize(st);
	write_and_free_stack_sums(f, to);
	if (f->failed)
		r = SQLITE_NOMEM;
	free(f);
	return r == SQLITE_DONE ? SQLITE_OK : r;
}

int export_folded_sched(const struct trace_tables *t, FILE *to)
{
	struct strbuf b = {0};
	sqlite3_stmt *st;
	int r = sqlite3_prepare_v2(
		t->db,
		"select coalesce(p.name, t.name, 'thread ' || t.tid), coalesce(t.name, 'thread') "
		"|| ' ' || t.tid, s.state, sum(s.dur) from thread_state s join thread t "
		"using (utid) left join process p using (upid) where s.dur > 0 group by s.utid, "
		"s.state order by 1, 2, 3",
		-1, &st, NULL);

	while (r == SQLITE_OK && (r = sqlite3_step(st)) == SQLITE_ROW) {
		strbuf_clear(&b);
		for (int i = 0; i < 3; i++)
			export_folded_add_frame(&b, (const char *)sqlite3_column_text(st, i),
						i == 0);
		r = b.failed ? SQLITE_NOMEM : SQLITE_OK;
		if (r == SQLITE_OK)
			fprintf(to, "%s %" PRId64 "\n", b.s, (int64_t)sqlite3_column_int64(st, 3));
	}
	sqlite3_finalize(st);
	strbuf_deinit(&b);
	return r == SQLITE_DONE ? SQLITE_OK : r;
}
