/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/import/gpu_work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/hash_table.h"
#include "base/core/mem.h"

struct gpu_queue {
	uint32_t track;
	bool emits;
	struct gpu_work *works; /* owned; those before `first` are done */
	size_t first, n, cap; /* n: not done */
	UT_hash_handle hh;
};

struct gpu_note_key {
	uint64_t kind, of, id[2];
};

struct gpu_note {
	struct gpu_note_key key;
	int64_t value;
	UT_hash_handle hh;
};

/* ---- queues ---- */

static struct gpu_queue *get_gpu_queue(struct import *im, uint32_t track)
{
	struct gpu_queue *q;

	HASH_FIND(hh, im->gpu_queues, &track, sizeof(track), q);
	if (q)
		return q;
	q = budget_alloc(&im->store->budget, sizeof(*q));
	if (q)
		q->track = track;
	return BUDGET_HASH_ADD(&im->store->budget, im->gpu_queues, track, q);
}

size_t gpu_work_push(struct import *im, uint32_t track, const struct gpu_work *w)
{
	struct gpu_queue *q = get_gpu_queue(im, track);

	if (!q || !budget_charge(&im->store->budget, sizeof(*w)))
		return 0;
	if (q->first > q->n) { /* so that each is moved once at most */
		memmove(q->works, q->works + q->first, q->n * sizeof(*w));
		q->first = 0;
	}
	if (array_reserve(&q->works, &q->cap, q->first + q->n + 1, sizeof(*w))) {
		im->store->budget.error = -ENOMEM;
		return 0;
	}
	q->works[q->first + q->n++] = *w;
	return q->n;
}

const struct gpu_work *gpu_work_first(struct import *im, uint32_t track)
{
	const struct gpu_queue *q = get_gpu_queue(im, track);

	return q && q->n ? &q->works[q->first] : NULL;
}

void gpu_work_pop(struct import *im, uint32_t track)
{
	struct gpu_queue *q = get_gpu_queue(im, track);

	if (!q || !q->n)
		return;
	q->first++;
	q->n--;
	im->store->budget.used -= sizeof(*q->works);
}

bool *gpu_work_emits_flag(struct import *im, uint32_t track)
{
	struct gpu_queue *q = get_gpu_queue(im, track);

	return q ? &q->emits : NULL;
}

/* ---- notes ---- */

static struct gpu_note *find_note(struct import *im, const struct gpu_note_key *key)
{
	struct gpu_note *n;

	HASH_FIND(hh, im->gpu_notes, key, sizeof(*key), n);
	return n;
}

void gpu_note_set(struct import *im, enum gpu_note_kind kind, uint32_t of, const uint64_t id[2],
		  int64_t value)
{
	const struct gpu_note_key key = {kind, of, {id[0], id[1]}};
	struct gpu_note *n = find_note(im, &key);

	if (!n) {
		n = budget_alloc(&im->store->budget, sizeof(*n));
		if (n)
			n->key = key;
		n = BUDGET_HASH_ADD(&im->store->budget, im->gpu_notes, key, n);
	}
	if (n)
		n->value = value;
}

bool gpu_note_get(struct import *im, enum gpu_note_kind kind, uint32_t of, const uint64_t id[2],
		  int64_t *ret)
{
	const struct gpu_note_key key = {kind, of, {id[0], id[1]}};
	const struct gpu_note *n = find_note(im, &key);

	if (n)
		*ret = n->value;
	return n;
}

bool gpu_note_pop(struct import *im, enum gpu_note_kind kind, uint32_t of, const uint64_t id[2],
		  int64_t *ret)
{
	const struct gpu_note_key key = {kind, of, {id[0], id[1]}};
	struct gpu_note *n = find_note(im, &key);

	if (!n)
		return false;
	*ret = n->value;
	HASH_DEL(im->gpu_notes, n);
	free(n);
	im->store->budget.used -= sizeof(*n);
	return true;
}

void gpu_work_deinit(struct import *im)
{
	struct gpu_queue *q, *next_queue;

	HASH_ITER (hh, im->gpu_queues, q, next_queue) {
		HASH_DEL(im->gpu_queues, q);
		free(q->works);
		free(q);
	}
	HASH_FREE(im->gpu_notes);
}
