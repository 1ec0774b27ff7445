/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a report counts by: the thread itself, or what it belongs to (a process, a program, or a
 * subject: a container, unit, pod or control group); and the tables subjects and subject_of. A
 * subject is the first row of cgroup with its name; for groups without such a name, the path is the
 * name. A program is its name.
 */
#include "analyze/report/pass.h"
#include "analyze/report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {[WHO_CONTAINER] = "container",
				    [WHO_UNIT] = "unit",
				    [WHO_POD] = "pod",
				    [WHO_CGROUP] = "cgroup"};

static bool parse_subject_kind(const char *word, enum who_kind *ret)
{
	for (unsigned i = WHO_CONTAINER; i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(kinds[i], word)) {
			*ret = (enum who_kind)i;
			return true;
		}
	return false;
}

static const char *cgroup_text(const struct store *s, uint32_t row, unsigned column)
{
	uint32_t id = table_u32(&s->tables[TABLE_CGROUP], column, row);

	return id == NULL_U32 ? NULL : strings_get(&s->strings, id);
}

/* Appends the name of a group's subject. */
static void put_subject_name(const struct store *s, enum who_kind kind, uint32_t row,
			     struct strbuf *to)
{
	const char *name = NULL, *namespace = NULL;

	if (kind == WHO_CONTAINER) {
		name = cgroup_text(s, row, CGROUP_NAME);
		name = name ? name : cgroup_text(s, row, CGROUP_CONTAINER);
	} else if (kind == WHO_UNIT) {
		name = cgroup_text(s, row, CGROUP_UNIT);
	} else if (kind == WHO_POD) {
		name = cgroup_text(s, row, CGROUP_POD);
		namespace = cgroup_text(s, row, CGROUP_NAMESPACE);
	}
	if (name && namespace)
		strbuf_printf(to, "%s/", namespace);
	if (!name)
		name = cgroup_text(s, row, CGROUP_PATH);
	if (name)
		strbuf_puts(to, name);
	else
		strbuf_printf(to, "control group %lld",
			      (long long)table_i64(&s->tables[TABLE_CGROUP], CGROUP_INODE, row));
}

/* ---- the subjects of groups ---- */

struct named_group {
	char *name; /* owned */
	uint32_t row;
};

static int compare_named_groups(const void *a, const void *b)
{
	const struct named_group *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : x->row < y->row ? -1 : 1;
}

/* Sets of[row] to the first row of the same name. Returns false if out of memory. */
static bool find_first_rows(const struct store *s, enum who_kind kind, uint32_t *of)
{
	uint32_t n = s->tables[TABLE_CGROUP].rows;
	struct named_group *groups = calloc((size_t)n + 1, sizeof(*groups));
	bool good = groups;

	for (uint32_t row = 0; good && row < n; row++) {
		struct strbuf name = {0};

		put_subject_name(s, kind, row, &name);
		groups[row] = (struct named_group){strbuf_take(&name), row};
		good = groups[row].name;
	}
	if (good)
		qsort(groups, n, sizeof(*groups), compare_named_groups);
	for (uint32_t i = 0, first = 0; good && i < n; i++) {
		if (strcmp(groups[i].name, groups[first].name) != 0)
			first = i;
		of[groups[i].row] = groups[first].row;
	}
	for (uint32_t row = 0; groups && row < n; row++)
		free(groups[row].name);
	free(groups);
	return good;
}

static bool who_init_subjects(struct pass_who *w)
{
	const struct table *rows = &w->s->tables[TABLE_THREAD_CGROUP];
	uint32_t threads = w->s->tables[TABLE_THREAD].rows;

	w->subject = malloc(((size_t)w->s->tables[TABLE_CGROUP].rows + 1) * sizeof(*w->subject));
	if (!w->subject || !find_first_rows(w->s, w->kind, w->subject))
		return false;
	for (uint32_t utid = 0; utid < threads; utid++)
		w->of[utid] = NULL_U32;
	for (uint32_t row = rows->rows; row-- > 0;)
		w->of[table_u32(rows, THREAD_CGROUP_UTID, row)] = row;
	return true;
}

static bool member_row_is_of_thread(const struct pass_who *w, uint32_t row, uint32_t utid)
{
	const struct table *rows = &w->s->tables[TABLE_THREAD_CGROUP];

	return row < rows->rows && table_u32(rows, THREAD_CGROUP_UTID, row) == utid;
}

/* Returns the thread's row of thread_cgroup at ts; its first row if ts is earlier; NULL_U32 if it
 * has none. Most threads have one row; the table is sorted by thread and time. */
static uint32_t find_member_row(const struct pass_who *w, uint32_t utid, int64_t ts)
{
	const struct table *rows = &w->s->tables[TABLE_THREAD_CGROUP];
	uint32_t row = w->of[utid], end = rows->rows;

	if (row == NULL_U32 || !member_row_is_of_thread(w, row + 1, utid))
		return row;
	while (end - row > 1) {
		uint32_t mid = row + (end - row) / 2;

		if (member_row_is_of_thread(w, mid, utid) &&
		    table_ts(rows, THREAD_CGROUP_TS, mid) <= ts)
			row = mid;
		else
			end = mid;
	}
	return row;
}

static uint32_t get_subject_of_row(const struct pass_who *w, uint32_t row)
{
	return row == NULL_U32 ? NULL_U32
			       : w->subject[table_u32(&w->s->tables[TABLE_THREAD_CGROUP],
						      THREAD_CGROUP_CGROUP, row)];
}

uint32_t pass_subject_at(const struct pass_who *w, uint32_t utid, int64_t ts)
{
	return get_subject_of_row(w, find_member_row(w, utid, ts));
}

bool pass_who_cut_span(const struct pass_who *w, struct pass_span *rest, struct pass_span *ret,
		       uint32_t *ret_who)
{
	const struct table *rows = &w->s->tables[TABLE_THREAD_CGROUP];
	uint32_t row;

	if (rest->begin >= rest->end)
		return false;
	*ret = *rest;
	rest->begin = rest->end;
	if (!w->subject) {
		*ret_who = w->of[ret->utid];
		return true;
	}
	row = find_member_row(w, ret->utid, ret->begin);
	*ret_who = get_subject_of_row(w, row);
	if (row != NULL_U32 && member_row_is_of_thread(w, row + 1, ret->utid))
		ret->end = rest->begin = MIN(ret->end, table_ts(rows, THREAD_CGROUP_TS, row + 1));
	return true;
}

/* Sets the program of each thread: the name of its process's main thread. */
static void map_processes_to_programs(struct pass_who *w)
{
	const struct table *threads = &w->s->tables[TABLE_THREAD];

	for (uint32_t utid = 0; utid < threads->rows; utid++)
		w->of[utid] = table_u32(threads, THREAD_NAME, utid);
	for (uint32_t utid = 0; utid < threads->rows; utid++) {
		uint32_t upid = table_u32(threads, THREAD_UPID, utid);

		if (upid != NULL_U32 && table_u8(threads, THREAD_IS_MAIN, utid) == 1 &&
		    table_u32(threads, THREAD_NAME, utid) != NULL_U32)
			w->main[upid] = table_u32(threads, THREAD_NAME, utid);
	}
	for (uint32_t utid = 0; utid < threads->rows; utid++) {
		uint32_t upid = table_u32(threads, THREAD_UPID, utid);

		if (upid != NULL_U32 && w->main[upid] != NULL_U32)
			w->of[utid] = w->main[upid];
		if (w->of[utid] == NULL_U32)
			w->of[utid] = 0; /* the empty string */
	}
}

bool pass_who_init(struct pass_who *w, const struct pass_input *in)
{
	const struct table *threads = &in->s->tables[TABLE_THREAD];
	uint32_t processes = in->s->tables[TABLE_PROCESS].rows;

	*w = (struct pass_who){.s = in->s,
			       .kind = !strcmp(in->by, "process")   ? WHO_PROCESS
				       : !strcmp(in->by, "program") ? WHO_PROGRAM
								    : WHO_THREAD};
	w->of = malloc(((size_t)threads->rows + 1) * sizeof(*w->of));
	w->main = malloc(((size_t)processes + 1) * sizeof(*w->main));
	if (!w->of || !w->main)
		return false;
	memset(w->main, 0xff, ((size_t)processes + 1) * sizeof(*w->main));
	if (parse_subject_kind(in->by, &w->kind))
		return who_init_subjects(w);
	if (w->kind == WHO_PROGRAM)
		map_processes_to_programs(w);
	for (uint32_t utid = 0; utid < threads->rows && w->kind != WHO_PROGRAM; utid++) {
		uint32_t upid = table_u32(threads, THREAD_UPID, utid);

		w->of[utid] = w->kind == WHO_THREAD ? utid
			      : upid == NULL_U32    ? processes + utid
						    : upid;
	}
	return true;
}

void pass_who_deinit(struct pass_who *w)
{
	free(w->of);
	free(w->main);
	free(w->subject);
}

int64_t pass_who_value(const struct pass_who *w, uint32_t who)
{
	uint32_t processes = w->s->tables[TABLE_PROCESS].rows;

	if (who == NULL_U32)
		return NULL_I64;
	return w->kind == WHO_PROCESS && who >= processes ? -1 - (int64_t)(who - processes) : who;
}

/* ---- tables ---- */

static void add_programs(const struct pass_who *w, struct pass_rows *ret)
{
	bool *seen = calloc((size_t)w->s->strings.n + 1, sizeof(*seen));

	ret->failed |= !seen;
	for (uint32_t utid = 0; seen && utid < w->s->tables[TABLE_THREAD].rows; utid++) {
		uint32_t name = w->of[utid];

		if (!seen[name])
			PASS_ROW(ret, name, name);
		seen[name] = true;
	}
	free(seen);
}

void pass_fill_subjects(const struct pass_input *in, struct pass_rows *ret)
{
	struct pass_who w;

	if (!pass_who_init(&w, in))
		ret->failed = true;
	else if (w.kind == WHO_PROGRAM)
		add_programs(&w, ret);
	for (uint32_t row = 0; !ret->failed && w.subject && row < in->s->tables[TABLE_CGROUP].rows;
	     row++) {
		int64_t text;

		if (w.subject[row] != row)
			continue;
		text = pass_text_id(ret);
		put_subject_name(in->s, w.kind, row, &ret->own_texts);
		PASS_ROW(ret, row, text);
	}
	pass_who_deinit(&w);
}

void pass_fill_subject_of(const struct pass_input *in, struct pass_rows *ret)
{
	struct pass_who w;

	if (!pass_who_init(&w, in))
		ret->failed = true;
	for (uint32_t utid = 0; !ret->failed && utid < in->s->tables[TABLE_THREAD].rows; utid++)
		PASS_ROW(ret, utid, pass_who_value(&w, pass_find_who_at(&w, utid, in->to)));
	pass_who_deinit(&w);
}

const char *report_lacks_groups(const struct store *s)
{
	return s->tables[TABLE_CGROUP].rows ? NULL : "not known (sonda record containers)";
}
