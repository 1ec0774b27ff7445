/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requests_by, longest_requests: requests to block devices. A request is a block_rq_issue and the
 * next block_rq_complete of the same device and sector. A block_rq_insert right before the issue
 * comes from the thread that made the request, even if the driver did not take the request the
 * first time (block_rq_requeue). unfinished_requests: each block_rq_issue that no block_rq_complete
 * follows before the next block_rq_insert.
 */
#include "analyze/report/pass.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/store/event_args.h"
#include "base/core/hash_table.h"
#include "gen/fields.h"
#include "wire/pb_read.h"

enum operation { OP_READ, OP_WRITE, OP_DISCARD, OP_FLUSH, OP_OTHER, OPS };

struct request {
	int64_t dev, sector, bytes;
	int64_t ts, dur, queued; /* dur: 0 without an end */
	enum operation op;
	bool inserted;
	uint32_t utid;
};

struct request_array {
	struct request *list; /* owned */
	size_t n, cap;
};

/* All requests that count. */
struct request_list {
	struct request_array done, unfinished;
};

/* The last events of a device and sector that no block_rq_complete followed. */
struct open_request {
	struct {
		int64_t dev, sector;
	} key;
	bool inserted, issued, requeued;
	enum operation op;
	int64_t insert_ts, issue_ts, bytes;
	uint32_t insert_utid, issue_utid;
	UT_hash_handle hh;
};

struct requests {
	const struct pass_input *in;
	struct open_request *open; /* owned hash */
	struct request_list *list; /* the result; owned by the caller */
	int64_t *inserting; /* owned; devices with block_rq_insert */
	size_t n_inserting, inserting_cap;
	size_t at; /* see table_next_ts() */
	bool failed;
};

/* The fields that all events of requests have, with the same numbers. */
struct block_event {
	int64_t dev, sector, sectors;
	enum operation op;
};

static enum operation parse_operation(const struct pb_field *rwbs)
{
	const char *s = (const char *)rwbs->data;
	char first = rwbs->len > 0 ? s[0] : 0, second = rwbs->len > 1 ? s[1] : 0;

	if (first == 'R')
		return OP_READ;
	if (first == 'W' || (first == 'F' && second == 'W'))
		return OP_WRITE;
	return first == 'D' ? OP_DISCARD : first == 'F' ? OP_FLUSH : OP_OTHER;
}

static struct block_event read_event(const struct store *s, uint32_t row)
{
	struct block_event ret = {.op = OP_OTHER};
	struct pb_dec d = event_args_message(s, row);
	struct pb_field f;

	while (pb_dec_next(&d, &f))
		if (f.id == PB_BLOCK_RQ_ISSUE_FTRACE_EVENT_DEV)
			ret.dev = (int64_t)f.u64;
		else if (f.id == PB_BLOCK_RQ_ISSUE_FTRACE_EVENT_SECTOR)
			ret.sector = (int64_t)f.u64;
		else if (f.id == PB_BLOCK_RQ_ISSUE_FTRACE_EVENT_NR_SECTOR)
			ret.sectors = (int64_t)f.u64;
		else if (f.id == PB_BLOCK_RQ_ISSUE_FTRACE_EVENT_RWBS && f.data)
			ret.op = parse_operation(&f);
	return ret;
}

static struct open_request *find_open_request(struct requests *r, const struct block_event *e,
					      bool make)
{
	struct open_request *o, key = {.key = {e->dev, e->sector}};

	HASH_FIND(hh, r->open, &key.key, sizeof(key.key), o);
	if (o || !make)
		return o;
	o = calloc(1, sizeof(*o));
	if (!o) {
		r->failed = true;
		return NULL;
	}
	o->key = key.key;
	HASH_ADD(hh, r->open, key, sizeof(o->key), o);
	if (o->hh.tbl)
		return o;
	free(o);
	r->failed = true;
	return NULL;
}

static bool request_is_in_report(const struct pass_input *in, const struct request *q)
{
	const struct table *threads = &in->s->tables[TABLE_THREAD];

	return q->ts >= in->from && q->ts <= in->to && q->utid < threads->rows &&
	       (in->chosen[q->utid] ||
		(!in->some && !in->limited && table_u8(threads, THREAD_IS_IDLE, q->utid) == 1));
}

/* Adds an issued request to one of the lists, if it is in the report. dur: 0 for an unfinished
 * one. */
static void pass_requests_add(struct requests *r, const struct open_request *o, int64_t dur,
			      struct request_array *to)
{
	struct request q = {
		.dev = o->key.dev,
		.sector = o->key.sector,
		.bytes = o->bytes,
		.ts = o->issue_ts,
		.dur = dur,
		.queued =
			o->inserted ? (int64_t)((uint64_t)o->issue_ts - (uint64_t)o->insert_ts) : 0,
		.op = o->op,
		.inserted = o->inserted,
		.utid = o->inserted ? o->insert_utid : o->issue_utid};

	if (!request_is_in_report(r->in, &q))
		return;
	if (array_reserve(&to->list, &to->cap, to->n + 1, sizeof(q)))
		r->failed = true;
	else
		to->list[to->n++] = q;
}

/* Handles a request that was inserted into the queue or, if issued, given to the driver. */
static void begin_request(struct requests *r, const struct block_event *e, bool issued, int64_t ts,
			  uint32_t utid)
{
	struct open_request *o = find_open_request(r, e, true);

	if (!o)
		return;
	if (issued) {
		/* An issue right after an issue has no insert: the driver did not take the
		 * request the first time. */
		o->inserted &= !o->issued;
		o->issued = true;
		o->requeued = false;
		o->op = e->op;
		o->issue_ts = ts;
		o->issue_utid = utid;
		o->bytes = (int64_t)(512 * (uint64_t)e->sectors);
	} else if (!o->requeued) { /* else the kernel queues the request again */
		if (o->issued)
			pass_requests_add(r, o, 0, &r->list->unfinished);
		o->inserted = true;
		o->issued = false;
		o->insert_ts = ts;
		o->insert_utid = utid;
	}
}

static void requeue_request(struct requests *r, const struct block_event *e)
{
	struct open_request *o = find_open_request(r, e, false);

	if (!o || !o->issued)
		return;
	o->issued = false;
	o->requeued = o->inserted;
}

static void complete_request(struct requests *r, const struct block_event *e, int64_t ts)
{
	struct open_request *o = find_open_request(r, e, false);

	if (!o)
		return;
	o->op = e->op;
	if (o->issued)
		pass_requests_add(r, o, (int64_t)((uint64_t)ts - (uint64_t)o->issue_ts),
				  &r->list->done);
	HASH_DEL(r->open, o);
	free(o);
}

static bool has_inserts(const struct requests *r, int64_t dev)
{
	for (size_t i = 0; i < r->n_inserting; i++)
		if (r->inserting[i] == dev)
			return true;
	return false;
}

static void add_device_with_inserts(struct requests *r, int64_t dev)
{
	if (has_inserts(r, dev))
		return;
	if (array_reserve(&r->inserting, &r->inserting_cap, r->n_inserting + 1,
			  sizeof(*r->inserting)))
		r->failed = true;
	else
		r->inserting[r->n_inserting++] = dev;
}

/* A recorded thread may issue the requests of other threads, whose block_rq_insert is not recorded.
 * So on a device with inserts, requests without an insert are dropped. */
static void drop_requests_without_insert(const struct requests *r, struct request_array *a)
{
	size_t n = 0;

	for (size_t i = 0; i < a->n; i++)
		if (a->list[i].inserted || !has_inserts(r, a->list[i].dev))
			a->list[n++] = a->list[i];
	a->n = n;
}

static void read_requests(struct requests *r)
{
	const struct table *t = &r->in->s->tables[TABLE_FTRACE];
	struct open_request *o, *next;

	for (uint32_t row = 0; row < t->rows && !r->failed; row++) {
		uint16_t kind = table_u16(t, FTRACE_KIND, row);
		struct block_event e;
		int64_t ts;

		if ((kind != PB_FTRACE_EVENT_BLOCK_RQ_INSERT &&
		     kind != PB_FTRACE_EVENT_BLOCK_RQ_ISSUE &&
		     kind != PB_FTRACE_EVENT_BLOCK_RQ_REQUEUE &&
		     kind != PB_FTRACE_EVENT_BLOCK_RQ_COMPLETE) ||
		    !pass_cpu_counts(r->in, table_u32(t, FTRACE_CPU, row)))
			continue;
		ts = table_next_ts(t, FTRACE_TS, row, &r->at);
		e = read_event(r->in->s, row);
		if (kind == PB_FTRACE_EVENT_BLOCK_RQ_INSERT)
			add_device_with_inserts(r, e.dev);
		if (kind == PB_FTRACE_EVENT_BLOCK_RQ_REQUEUE)
			requeue_request(r, &e);
		else if (kind != PB_FTRACE_EVENT_BLOCK_RQ_COMPLETE)
			begin_request(r, &e, kind == PB_FTRACE_EVENT_BLOCK_RQ_ISSUE, ts,
				      table_u32(t, FTRACE_UTID, row));
		else
			complete_request(r, &e, ts);
	}
	HASH_ITER (hh, r->open, o, next) {
		if (o->issued)
			pass_requests_add(r, o, 0, &r->list->unfinished);
		HASH_DEL(r->open, o);
		free(o);
	}
	if (r->in->limited) {
		drop_requests_without_insert(r, &r->list->done);
		drop_requests_without_insert(r, &r->list->unfinished);
	}
	free(r->inserting);
}

/* ---- the passes ---- */

void request_list_free(struct request_list *l)
{
	if (!l)
		return;
	free(l->done.list);
	free(l->unfinished.list);
	free(l);
}

/* Returns the requests, which the passes share, or NULL if out of memory. */
static const struct request_list *list_requests(const struct pass_input *in)
{
	struct requests r = {.in = in};

	if (*in->requests)
		return *in->requests;
	r.list = calloc(1, sizeof(*r.list));
	if (!r.list)
		return NULL;
	read_requests(&r);
	if (r.failed) {
		request_list_free(r.list);
		r.list = NULL;
	}
	*in->requests = r.list;
	return r.list;
}

enum request_key { BY_DEVICE, BY_LENGTH, BY_WHO };

/* Adds the requests to groups. Of a group, `flagged` is the sum of the times in the queue, and
 * `other` the sum of the bytes. */
static void add_requests(const struct request_array *l, enum request_key by,
			 const struct pass_who *who, struct groups *g)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct request *q = &l->list[i];
		uint64_t key =
			by == BY_DEVICE ? (uint64_t)q->dev * OPS + q->op
			: by == BY_LENGTH
				? pass_length(q->dur)
				: (uint64_t)pass_find_who_at(who, q->utid, q->ts) * OPS + q->op;
		struct group *group = groups_add(
			g, &(struct group_sample){.key = key, .ns = q->dur, .ts = q->ts});

		if (group && !g->filling) {
			group->flagged += (uint64_t)q->queued;
			group->other += (uint64_t)q->bytes;
		}
	}
}

void pass_fill_requests(const struct pass_input *in, struct pass_rows *ret)
{
	enum request_key by = !strcmp(in->by, "device")	  ? BY_DEVICE
			      : !strcmp(in->by, "length") ? BY_LENGTH
							  : BY_WHO;
	struct groups g = {.n = 0};
	const struct request_list *l = list_requests(in);
	struct pass_who who;
	bool good = pass_who_init(&who, in) && l;

	ret->texts = who.kind == WHO_PROGRAM ? 1 : 0;
	if (good)
		add_requests(&l->done, by, &who, &g);
	if (good && groups_begin_fill(&g))
		add_requests(&l->done, by, &who, &g);
	for (size_t i = 0; i < g.n && good; i++) {
		const struct group *e = &g.list[i];
		int64_t key = by == BY_LENGTH	? (int64_t)e->key
			      : by == BY_DEVICE ? (int64_t)(e->key / OPS)
						: pass_who_value(&who, (uint32_t)(e->key / OPS));

		PASS_ROW(ret, key, by == BY_LENGTH ? NULL_I64 : (int64_t)(e->key % OPS),
			 (int64_t)e->n, (int64_t)e->other, (int64_t)e->flagged, (int64_t)e->total,
			 groups_p50(&g, e), groups_p99(&g, e), e->longest);
	}
	ret->failed |= !good || g.failed;
	groups_deinit(&g);
	pass_who_deinit(&who);
}

static int compare_request_rows(const void *a, const void *b)
{
	uint32_t x = ((const struct largest_item *)a)->row,
		 y = ((const struct largest_item *)b)->row;

	return x < y ? -1 : x > y;
}

void pass_fill_longest_requests(const struct pass_input *in, struct pass_rows *ret)
{
	struct largest l = {.most = (size_t)in->top};
	const struct request_list *all = list_requests(in);

	for (size_t i = 0; all && i < all->done.n; i++)
		largest_add(&l, all->done.list[i].dur, (uint32_t)i, 0);
	if (l.n)
		qsort(l.items, l.n, sizeof(*l.items), compare_request_rows);
	for (size_t i = 0; i < l.n; i++) {
		const struct request *q = &all->done.list[l.items[i].row];

		PASS_ROW(ret, q->dev, q->op, q->bytes, q->sector, q->utid, q->queued, q->ts,
			 q->dur);
	}
	ret->failed |= !all || l.failed;
	free(l.items);
}

void pass_fill_unfinished_requests(const struct pass_input *in, struct pass_rows *ret)
{
	const struct request_list *all = list_requests(in);

	for (size_t i = 0; all && i < all->unfinished.n; i++) {
		const struct request *q = &all->unfinished.list[i];

		PASS_ROW(ret, q->dev, q->op, q->bytes, q->utid);
	}
	ret->failed |= !all;
}
