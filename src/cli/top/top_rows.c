/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	subjects, processes  -->  nodes with parents  -->  filter  -->  sort  -->  rows
 *
 * Without a tree no node has a parent.
 */
#include "cli/top/top_rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/hash_table.h"
#include "base/core/mem.h"
#include "base/text/str.h"
#include "cli/top/top_columns.h"

/* Deeper nodes begin a tree of their own. Parents come from a trace: they may form a circle. */
#define TREE_DEPTH_MAX 64
#define NO_NODE SIZE_MAX

static const char *const names[TOP_BYS] = {
	[TOP_BY_PROCESS] = "process",	  [TOP_BY_PROGRAM] = "program", [TOP_BY_UNIT] = "unit",
	[TOP_BY_CONTAINER] = "container", [TOP_BY_POD] = "pod",		[TOP_BY_CGROUP] = "cgroup",
};

const char *top_by_name(enum top_by by)
{
	return names[by];
}

bool top_by_parse(const char *name, enum top_by *ret)
{
	for (unsigned i = 0; i < TOP_BYS; i++)
		if (!strcmp(names[i], name)) {
			*ret = (enum top_by)i;
			return true;
		}
	return false;
}

struct top_subject {
	char *name; /* owned; key */
	UT_hash_handle hh;
	struct live_process sum;
	uint32_t count;
	size_t node;
};

struct top_node {
	struct top_row row;
	size_t parent, first_child, next; /* next: sibling */
	double weight; /* what it is sorted by */
	bool is_shown;
};

struct top_nodes {
	struct top_node *list; /* owned */
	size_t n, cap;
	const struct top_selection *selection;
	const struct live *live;
	struct top_rows *rows;
	bool failed;
};

static size_t top_node_add(struct top_nodes *t, const struct top_row *row)
{
	if (array_reserve(&t->list, &t->cap, t->n + 1, sizeof(*t->list)) < 0) {
		t->failed = true;
		return NO_NODE;
	}
	t->list[t->n] = (struct top_node){
		.row = *row, .parent = NO_NODE, .first_child = NO_NODE, .next = NO_NODE};
	return t->n++;
}

/* ---- subjects ---- */

/* Appends the name of the subject of a group, which may be NULL: unknown. */
static void put_subject_name(enum top_by by, const struct live_group *g, struct strbuf *b)
{
	const char *name = NULL;

	if (!g) {
		strbuf_puts(b, "(unknown)");
		return;
	}
	if (by == TOP_BY_CONTAINER)
		name = g->texts[LIVE_GROUP_NAME] ? g->texts[LIVE_GROUP_NAME]
						 : g->texts[LIVE_GROUP_CONTAINER];
	else if (by == TOP_BY_UNIT)
		name = g->texts[LIVE_GROUP_UNIT];
	else if (by == TOP_BY_POD)
		name = g->texts[LIVE_GROUP_POD];
	if (name && by == TOP_BY_POD && g->texts[LIVE_GROUP_NAMESPACE])
		strbuf_printf(b, "%s/", g->texts[LIVE_GROUP_NAMESPACE]);
	if (!name)
		name = g->texts[LIVE_GROUP_PATH];
	strbuf_puts(b, name ? name : "(unknown)");
}

static void put_subject_of_process(const struct top_nodes *t, enum top_by by,
				   const struct live_process *p, struct strbuf *b)
{
	if (by == TOP_BY_PROGRAM)
		strbuf_puts(b, live_program_name(p->name));
	else
		put_subject_name(by, live_find_group(t->live, p->group), b);
}

static struct top_subject *top_subject_find(const struct top_nodes *t, const char *name)
{
	struct top_subject *s;

	HASH_FIND(hh, t->rows->subjects, name, strlen(name), s);
	return s;
}

static struct top_subject *top_subject_make(struct top_nodes *t, const char *name)
{
	struct top_subject *s = calloc(1, sizeof(*s));

	if (s)
		s->name = strdup(name);
	if (s && s->name)
		HASH_ADD_KEYPTR(hh, t->rows->subjects, s->name, strlen(s->name), s);
	if (s && s->hh.tbl)
		return s;
	if (s)
		free(s->name);
	free(s);
	t->failed = true;
	return NULL;
}

static void add_to_subject(struct top_nodes *t, const char *name, const struct live_group *g)
{
	struct top_subject *s = top_subject_find(t, name);

	if (!s)
		s = top_subject_make(t, name);
	if (!s)
		return;
	s->count += g->processes;
	s->sum.rss += g->rss;
	s->sum.has_rss |= g->has_rss;
	for (size_t i = 0; i < LIVE_METRICS; i++) {
		s->sum.values[i].total += g->values[i].total;
		s->sum.values[i].has_total |= g->values[i].has_total;
		s->sum.values[i].rate += g->values[i].rate;
		s->sum.values[i].has_rate |= g->values[i].has_rate;
	}
}

/* Shortens a path to that of the group above. Returns false if it is the root, or not a path. */
static bool cut_to_parent_path(char *path)
{
	char *slash = *path == '/' && path[1] ? strrchr(path, '/') : NULL;

	if (!slash)
		return false;
	slash[slash == path] = '\0';
	return true;
}

/* Returns true if the group has processes, or had some that did something in this period. */
static bool group_is_active(const struct live_group *g)
{
	bool active = g->processes;

	for (size_t i = 0; i < LIVE_METRICS; i++)
		active |= i != LIVE_SLEEP && g->values[i].has_rate && g->values[i].rate > 0;
	return active;
}

static void add_group_to_subjects(void *ctx, const struct live_group *g)
{
	struct top_nodes *t = ctx;
	struct strbuf name = {0};

	if (!group_is_active(g))
		return;
	if (t->selection->by == TOP_BY_PROGRAM)
		strbuf_puts(&name, g->texts[LIVE_GROUP_PATH]);
	else
		put_subject_name(t->selection->by, g, &name);
	if (name.failed)
		t->failed = true;
	else
		add_to_subject(t, name.s ? name.s : "", g);
	/* In a tree a control group has the sums of all below it. */
	while (t->selection->tree && t->selection->by == TOP_BY_CGROUP && name.s &&
	       cut_to_parent_path(name.s))
		add_to_subject(t, name.s, g);
	strbuf_deinit(&name);
}

static void subjects_make_nodes(struct top_nodes *t)
{
	bool is_path = t->selection->tree && t->selection->by == TOP_BY_CGROUP;
	struct top_subject *s, *next, *above;
	struct strbuf path = {0};

	HASH_ITER (hh, t->rows->subjects, s, next) {
		const char *last = is_path ? strrchr(s->name, '/') : NULL;
		struct top_row row = {
			.p = &s->sum, .key = s->name, .name = s->name, .count = s->count};

		if (last && last[1])
			row.name = last + 1;
		if (!*row.name)
			row.name = "(unknown)";
		s->node = top_node_add(t, &row);
	}
	HASH_ITER (hh, t->rows->subjects, s, next) {
		if (!is_path || s->node == NO_NODE)
			continue;
		strbuf_clear(&path);
		strbuf_puts(&path, s->name);
		above = path.s && cut_to_parent_path(path.s) ? top_subject_find(t, path.s) : NULL;
		if (above)
			t->list[s->node].parent = above->node;
	}
	strbuf_deinit(&path);
}

/* ---- processes ---- */

static bool is_in_chosen_subject(const struct top_nodes *t, const struct live_process *p)
{
	const struct top_selection *s = t->selection;
	struct strbuf name = {0};
	size_t len = strlen(s->within);
	bool within;

	if (s->within_by == TOP_BY_PROCESS)
		return true;
	put_subject_of_process(t, s->within_by, p, &name);
	within = name.s && !strncmp(name.s, s->within, len) &&
		 (!name.s[len] ||
		  (s->within_by == TOP_BY_CGROUP && (name.s[len] == '/' || len == 1)));
	strbuf_deinit(&name);
	return within;
}

static bool is_one_of_pids(const struct top_selection *s, const struct live_process *p)
{
	uint32_t pid = (uint32_t)(p->tgid ? p->tgid : p->pid);
	bool chosen = !s->n_pids;

	for (size_t i = 0; i < s->n_pids; i++)
		chosen |= s->pids[i] == pid;
	return chosen;
}

static void process_make_node(void *ctx, const struct live_process *p)
{
	struct top_row row = {.p = p,
			      .name = p->name[0] ? live_program_name(p->name) : "(unknown)"};
	struct top_nodes *t = ctx;

	/* Most processes without a name have ended. The sums of their subject contain them. */
	if (t->selection->by != TOP_BY_PROCESS && !p->name[0])
		return;
	if (is_one_of_pids(t->selection, p) && is_in_chosen_subject(t, p))
		top_node_add(t, &row);
}

static int compare_pids(const void *a, const void *b, void *ctx)
{
	const struct top_nodes *t = ctx;
	int32_t x = t->list[*(const size_t *)a].row.p->pid,
		y = t->list[*(const size_t *)b].row.p->pid;

	return x < y ? -1 : x > y;
}

/* Finds the node of a process by binary search. by_pid: n nodes in the order of their pids. */
static size_t find_node_of_pid(const struct top_nodes *t, const size_t *by_pid, size_t n,
			       int32_t pid)
{
	size_t from = 0, to = n;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (t->list[by_pid[mid]].row.p->pid < pid)
			from = mid + 1;
		else
			to = mid;
	}
	return from < n && t->list[by_pid[from]].row.p->pid == pid ? by_pid[from] : NO_NODE;
}

/* Sets the parents of a tree of processes: a thread is below its main thread, and a main thread is
 * below that of the parent process. */
static void find_parent_processes(struct top_nodes *t)
{
	size_t *by_pid = malloc((t->n + 1) * sizeof(*by_pid));

	if (!by_pid) {
		t->failed = true;
		return;
	}
	for (size_t i = 0; i < t->n; i++)
		by_pid[i] = i;
	qsort_r(by_pid, t->n, sizeof(*by_pid), compare_pids, t);
	for (size_t i = 0; i < t->n; i++) {
		const struct live_process *p = t->list[i].row.p;
		int32_t above = p->tgid && p->tgid != p->pid ? p->tgid : p->parent;

		if (above)
			t->list[i].parent = find_node_of_pid(t, by_pid, t->n, above);
	}
	free(by_pid);
}

/* Puts processes below their subjects. from: the first node of a process. */
static void find_subjects_of_processes(struct top_nodes *t, size_t from)
{
	struct strbuf name = {0};

	for (size_t i = from; i < t->n; i++) {
		struct top_subject *s;

		strbuf_clear(&name);
		put_subject_of_process(t, t->selection->by, t->list[i].row.p, &name);
		s = top_subject_find(t, name.s ? name.s : "");
		if (s)
			t->list[i].parent = s->node;
	}
	strbuf_deinit(&name);
}

/* Returns how many nodes are above a node, at most TREE_DEPTH_MAX: so many also in a circle. */
static unsigned depth_of_node(const struct top_nodes *t, size_t i)
{
	unsigned depth = 0;

	while (t->list[i].parent != NO_NODE && depth < TREE_DEPTH_MAX) {
		i = t->list[i].parent;
		depth++;
	}
	return depth;
}

static void cut_deep_trees(struct top_nodes *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (depth_of_node(t, i) == TREE_DEPTH_MAX)
			t->list[i].parent = NO_NODE;
}

/* ---- filter, sort ---- */

static bool node_matches(const struct top_selection *s, const struct top_row *row)
{
	char pid[16];

	if (!*s->filter)
		return true;
	snprintf(pid, sizeof(pid), "%d", row->p->pid);
	return strcasestr(row->key ? row->key : row->name, s->filter) ||
	       (!row->key && (strcasestr(row->p->name, s->filter) || !strcmp(pid, s->filter)));
}

/* Shows each node that matches and all above it, and each process of a subject that matches. */
static void filter_nodes(struct top_nodes *t)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct top_node *n = &t->list[i];
		bool matches = node_matches(t->selection, &n->row);

		for (size_t at = n->parent; !matches && !n->row.key && at != NO_NODE;
		     at = t->list[at].parent)
			matches =
				t->list[at].row.key && node_matches(t->selection, &t->list[at].row);
		for (size_t at = i; matches && at != NO_NODE; at = t->list[at].parent)
			t->list[at].is_shown = true;
	}
}

static void set_sort_keys(struct top_nodes *t)
{
	const struct top_column_spec *c = &top_columns[t->selection->sort];
	bool is_number = c->unit != TOP_PID && c->unit != TOP_NAME;

	for (size_t i = 0; is_number && i < t->n; i++) {
		double v = top_column_sort_value(c, t->list[i].row.p);

		t->list[i].weight += v;
		/* The sums of a subject contain all below it. */
		for (size_t at = t->list[i].parent; v > 0 && at != NO_NODE && !t->list[at].row.key;
		     at = t->list[at].parent)
			t->list[at].weight += v;
	}
}

static int compare_nodes(const void *a, const void *b, void *ctx)
{
	const struct top_nodes *t = ctx;
	const struct top_node *x = &t->list[*(const size_t *)a], *y = &t->list[*(const size_t *)b];
	int by_pid = x->row.p->pid < y->row.p->pid ? -1 : x->row.p->pid > y->row.p->pid;
	enum top_unit unit = top_columns[t->selection->sort].unit;
	int by_name = 0;

	if (unit != TOP_PID && unit != TOP_NAME && x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	if (unit == TOP_PID && x->row.count != y->row.count)
		return x->row.count > y->row.count ? -1 : 1;
	if (unit == TOP_NAME || x->row.key || y->row.key)
		by_name = strcmp(x->row.key ? x->row.key : x->row.name,
				 y->row.key ? y->row.key : y->row.name);
	return by_name ? by_name : by_pid;
}

/* Links each node that is shown into the list of its parent, in order. Returns the first one
 * without a parent, or NO_NODE. */
static size_t link_nodes(struct top_nodes *t)
{
	size_t *order = malloc((t->n + 1) * sizeof(*order)), first = NO_NODE;

	if (!order) {
		t->failed = true;
		return NO_NODE;
	}
	for (size_t i = 0; i < t->n; i++)
		order[i] = i;
	qsort_r(order, t->n, sizeof(*order), compare_nodes, t);
	for (size_t i = t->n; i-- > 0;) {
		struct top_node *n = &t->list[order[i]];
		size_t *list = n->parent == NO_NODE ? &first : &t->list[n->parent].first_child;

		if (!n->is_shown)
			continue;
		n->next = *list;
		*list = order[i];
	}
	free(order);
	return first;
}

/* ---- rows ---- */

static void collect_rows(struct top_nodes *t, size_t at)
{
	struct top_rows *r = t->rows;
	unsigned depth = 0;

	while (at != NO_NODE) {
		struct top_node *n = &t->list[at];

		n->row.depth = depth;
		r->processes += !n->row.key;
		r->list[r->n++] = n->row;
		if (n->first_child != NO_NODE) {
			at = n->first_child;
			depth++;
			continue;
		}
		while (at != NO_NODE && t->list[at].next == NO_NODE) {
			at = t->list[at].parent;
			depth -= depth > 0;
		}
		if (at != NO_NODE)
			at = t->list[at].next;
	}
}

static void make_nodes(struct top_nodes *t)
{
	const struct top_selection *s = t->selection;
	size_t subjects;

	if (s->by != TOP_BY_PROCESS) {
		live_each_group(t->live, s->by == TOP_BY_PROGRAM ? LIVE_BY_PROGRAM : LIVE_BY_GROUP,
				add_group_to_subjects, t);
		subjects_make_nodes(t);
	}
	subjects = t->n;
	if (s->by == TOP_BY_PROCESS || s->tree)
		live_each_process(t->live, process_make_node, t);
	if (s->tree && s->by == TOP_BY_PROCESS)
		find_parent_processes(t);
	else if (s->tree)
		find_subjects_of_processes(t, subjects);
}

int top_rows_make(struct top_rows *r, const struct top_selection *s, const struct live *live)
{
	struct top_nodes t = {.selection = s, .live = live, .rows = r};
	size_t first;

	make_nodes(&t);
	cut_deep_trees(&t);
	filter_nodes(&t);
	set_sort_keys(&t);
	first = link_nodes(&t);
	r->list = malloc((t.n + 1) * sizeof(*r->list));
	if (r->list && !t.failed)
		collect_rows(&t, first);
	else
		t.failed = true;
	free(t.list);
	return t.failed ? -ENOMEM : 0;
}

void top_rows_free(struct top_rows *r)
{
	struct top_subject *s, *next;

	HASH_ITER (hh, r->subjects, s, next) {
		HASH_DEL(r->subjects, s);
		free(s->name);
		free(s);
	}
	free(r->list);
	*r = (struct top_rows){0};
}
