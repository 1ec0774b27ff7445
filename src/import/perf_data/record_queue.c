/* SPDX-License-Identifier: Apache-2.0 */
#include "import/perf_data/record_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"

void record_queue_deinit(struct record_queue *q)
{
	free(q->records);
	free(q->bytes);
	*q = (struct record_queue){0};
}

/* Records of one time stay in the order of the file. */
static int compare_records(const void *a, const void *b)
{
	const struct queued_record *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* Removes the records before number `first`, and moves the others to the front. */
static void remove_records_before(struct record_queue *q, size_t first)
{
	uint8_t *bytes = NULL;
	size_t n_bytes = 0, cap = 0;

	for (size_t i = first; i < q->n; i++)
		n_bytes += q->records[i].len;
	if (n_bytes && array_reserve(&bytes, &cap, n_bytes, 1))
		first = q->n; /* no memory: they are lost with the import, which fails soon */
	n_bytes = 0;
	for (size_t i = first; i < q->n; i++) {
		struct queued_record *r = &q->records[i - first];

		*r = q->records[i];
		memcpy(bytes + n_bytes, q->bytes + r->at, r->len);
		r->at = n_bytes;
		n_bytes += r->len;
	}
	q->n -= first;
	if (!q->n) {
		free(bytes);
		q->n_bytes = 0;
		return;
	}
	free(q->bytes);
	q->bytes = bytes;
	q->n_bytes = n_bytes;
	q->bytes_cap = cap;
}

static void deliver_records_until(struct record_queue *q, uint64_t limit)
{
	size_t i;

	if (q->n)
		qsort(q->records, q->n, sizeof(*q->records), compare_records);
	for (i = 0; i < q->n && q->records[i].time <= limit; i++)
		q->take(q->ctx, q->records[i].time, q->bytes + q->records[i].at, q->records[i].len);
	remove_records_before(q, i);
}

int record_queue_add(struct record_queue *q, uint64_t time, const uint8_t *record, size_t len)
{
	int r = 0;

	if (q->n_bytes + len > RECORD_QUEUE_BYTES_MAX) {
		deliver_records_until(q, UINT64_MAX);
		r = 1;
	}
	if (array_reserve(&q->records, &q->cap, q->n + 1, sizeof(*q->records)) ||
	    array_reserve(&q->bytes, &q->bytes_cap, q->n_bytes + len, 1))
		return -ENOMEM;
	q->records[q->n++] = (struct queued_record){time, q->n_bytes, (uint32_t)len};
	memcpy(q->bytes + q->n_bytes, record, len);
	q->n_bytes += len;
	q->newest = MAX(q->newest, time);
	return r;
}

void record_queue_end_round(struct record_queue *q)
{
	deliver_records_until(q, q->round_end);
	q->round_end = q->newest;
}

void record_queue_end(struct record_queue *q)
{
	deliver_records_until(q, UINT64_MAX);
}
