/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/process/process_queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"

void process_queue_deinit(struct process_queue *q)
{
	free(q->tids);
	process_seen_clear(&q->waiting);
	*q = (struct process_queue){0};
}

/* Those that were served leave the front of the array, where there is no more room behind. */
static void close_up(struct process_queue *q)
{
	if (q->n < q->cap || q->next == 0)
		return;
	memmove(q->tids, q->tids + q->next, (q->n - q->next) * sizeof(*q->tids));
	q->n -= q->next;
	q->next = 0;
}

void process_queue_add(struct process_queue *q, int32_t tid)
{
	close_up(q);
	if (q->n - q->next >= PROCESS_QUEUE_MAX || process_seen_has(&q->waiting, tid))
		return;
	if (array_reserve(&q->tids, &q->cap, q->n + 1, sizeof(*q->tids)) < 0 ||
	    process_seen_add(&q->waiting, tid) < 0)
		return;
	q->tids[q->n++] = tid;
}

bool process_queue_run(struct process_queue *q, struct process_names *n,
		       const struct time_slice *turn)
{
	while (!process_queue_is_empty(q)) {
		int32_t tid = q->tids[q->next++];

		process_seen_remove(&q->waiting, tid);
		process_names_task(n, tid);
		if (time_slice_over(turn))
			break;
	}
	if (!process_queue_is_empty(q))
		return true;
	q->next = q->n = 0;
	return false;
}
