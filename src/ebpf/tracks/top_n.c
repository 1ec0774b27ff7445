/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/tracks/top_n.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/hash_table.h"
#include "base/core/mem.h"

#define COMM_SIZE 64

struct process {
	uint32_t pid;
	UT_hash_handle hh;
	uint32_t period; /* last period that added it */
	uint64_t before; /* weight in the previous period */
	uint64_t weight;
	uint64_t values[TOP_COLUMNS_MAX];
	uint64_t growth;
	uint64_t alive_ns; /* a time at which it existed */
	bool is_shown;
	uint32_t track;
	uint32_t columns[TOP_COLUMNS_MAX];
};

struct top_n {
	struct tracks *tracks; /* borrowed */
	const char *proc_root; /* borrowed */
	struct track_spec columns[TOP_COLUMNS_MAX];
	size_t n_columns;
	uint32_t top_n, n_shown;
	uint32_t period;
	struct process *all;
	struct process **order; /* owned: processes that grew, sorted by growth */
	size_t order_cap;
};

int top_n_new(struct tracks *tracks, const struct track_spec *columns, size_t n_columns,
	      uint32_t top_n, const char *proc_root, struct top_n **ret)
{
	struct top_n *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->tracks = tracks;
	t->proc_root = proc_root;
	t->n_columns = MIN(n_columns, TOP_COLUMNS_MAX);
	memcpy(t->columns, columns, t->n_columns * sizeof(*columns));
	t->top_n = top_n;
	*ret = t;
	return 0;
}

static void top_n_remove(struct top_n *t, struct process *p)
{
	HASH_DEL(t->all, p);
	free(p);
}

void top_n_free(struct top_n *t)
{
	struct process *p, *next;

	if (!t)
		return;
	HASH_ITER (hh, t->all, p, next)
		top_n_remove(t, p);
	free(t->order);
	free(t);
}

void top_n_begin(struct top_n *t)
{
	t->period++;
}

static struct process *top_n_find_or_add(struct top_n *t, uint32_t pid)
{
	struct process *p;

	HASH_FIND(hh, t->all, &pid, sizeof(pid), p);
	if (p || HASH_COUNT(t->all) >= TOP_PROCESSES_MAX)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->pid = pid;
	HASH_ADD(hh, t->all, pid, sizeof(p->pid), p);
	if (!p->hh.tbl)
		free(TAKE_PTR(p));
	return p;
}

void top_n_add(struct top_n *t, const struct top_process *add)
{
	struct process *p = top_n_find_or_add(t, add->pid);

	if (!p)
		return;
	if (p->period != t->period) {
		p->period = t->period;
		p->before = p->weight;
		p->weight = 0;
		memset(p->values, 0, sizeof(p->values));
	}
	p->weight += add->weight;
	for (size_t i = 0; i < t->n_columns; i++)
		p->values[i] += add->values[i];
	p->alive_ns = MAX(p->alive_ns, add->alive_ns);
	/* An element that was evicted and created again starts at 0. */
	p->growth = p->weight >= p->before ? p->weight - p->before : p->weight;
}

/* ---- tracks ---- */

/* Reads the name of a process into name, and returns it; NULL: the process has ended, or has no
 * name. */
static const char *top_n_read_name(const struct top_n *t, uint32_t pid, char name[static COMM_SIZE])
{
	char path[256];
	FILE *f;

	if ((size_t)snprintf(path, sizeof(path), "%s/%u/comm", t->proc_root, pid) >= sizeof(path))
		return NULL;
	f = fopen(path, "re");
	if (!f)
		return NULL;
	if (!fgets(name, COMM_SIZE, f))
		name[0] = '\0';
	fclose(f);
	name[strcspn(name, "\n")] = '\0';
	return name[0] ? name : NULL;
}

static void top_n_add_tracks(struct top_n *t, struct process *p)
{
	char name[COMM_SIZE];

	p->track = tracks_add(t->tracks,
			      &(struct track_spec){.kind = TRACK_PROCESS,
						   .pid = (int32_t)p->pid,
						   .alive_ns = p->alive_ns,
						   .name = top_n_read_name(t, p->pid, name)});
	for (size_t i = 0; i < t->n_columns; i++) {
		struct track_spec spec = t->columns[i];

		spec.kind = TRACK_COUNTER;
		spec.parent = p->track;
		p->columns[i] = tracks_add(t->tracks, &spec);
	}
	p->is_shown = true;
	t->n_shown++;
}

static void set_process_tracks(struct top_n *t, const struct process *p)
{
	for (size_t i = 0; i < t->n_columns; i++)
		tracks_set(t->tracks, p->columns[i], (int64_t)p->values[i]);
}

static void remove_process_tracks(struct top_n *t, struct process *p)
{
	if (!p->is_shown)
		return;
	for (size_t i = 0; i < t->n_columns; i++)
		tracks_remove(t->tracks, p->columns[i]);
	tracks_remove(t->tracks, p->track);
	p->is_shown = false;
	t->n_shown--;
}

bool top_n_has_tracks(const struct top_n *t, uint32_t pid)
{
	const struct process *p;

	HASH_FIND(hh, t->all, &pid, sizeof(pid), p);
	return p && p->is_shown;
}

void top_n_remove_tracks(struct top_n *t)
{
	struct process *p, *next;

	HASH_ITER (hh, t->all, p, next)
		remove_process_tracks(t, p);
}

/* ---- ranking ---- */

static int compare_by_growth(const void *a, const void *b)
{
	const struct process *x = *(struct process *const *)a, *y = *(struct process *const *)b;

	if (x->growth != y->growth)
		return x->growth < y->growth ? 1 : -1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* Drops processes that do not exist any more. Returns the number of processes that grew; t->order
 * has them, sorted. */
static size_t drop_ended_and_sort(struct top_n *t)
{
	struct process *p, *next;
	size_t n = 0;

	if (array_reserve(&t->order, &t->order_cap, HASH_COUNT(t->all), sizeof(*t->order)) < 0)
		return 0;
	HASH_ITER (hh, t->all, p, next) {
		if (p->period != t->period) {
			remove_process_tracks(t, p);
			top_n_remove(t, p);
		} else if (p->growth) {
			t->order[n++] = p;
		}
	}
	if (n)
		qsort(t->order, n, sizeof(*t->order), compare_by_growth);
	return n;
}

/* Returns the shown process that grew least. */
static struct process *find_least_grown_shown(const struct top_n *t)
{
	struct process *p, *next, *worst = NULL;

	HASH_ITER (hh, t->all, p, next)
		if (p->is_shown && (!worst || compare_by_growth(&p, &worst) > 0))
			worst = p;
	return worst;
}

/* Hides the shown process that grew least. Its tracks end with its values of this period. */
static void hide_least_grown(struct top_n *t)
{
	struct process *p = find_least_grown_shown(t);

	set_process_tracks(t, p);
	remove_process_tracks(t, p);
}

void top_n_end(struct top_n *t)
{
	size_t n = MIN(drop_ended_and_sort(t), t->top_n);
	struct process *p, *next;

	for (size_t i = 0; i < n; i++) {
		if (t->order[i]->is_shown) {
			tracks_set_alive(t->tracks, t->order[i]->track, t->order[i]->alive_ns);
			continue;
		}
		if (t->n_shown >= t->top_n)
			hide_least_grown(t);
		top_n_add_tracks(t, t->order[i]);
	}
	HASH_ITER (hh, t->all, p, next)
		if (p->is_shown)
			set_process_tracks(t, p);
}
