/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requests_by, longest_requests: requests to block devices. A request is a block_rq_issue and the
 * block_rq_complete of the same device and sector that follows; a block_rq_insert right before it
 * has the thread that asked for it.
 */
#include "analyze/report/pass.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/store/event_args.h"
#include "base/core/hash_table.h"
#include "gen/fields.h"
#include "wire/pb_dec.h"

enum operation { OP_READ, OP_WRITE, OP_DISCARD, OP_FLUSH, OP_OTHER, OPS };

struct request {
	int64_t dev, sector, bytes;
	int64_t ts, dur, queued;
	enum operation op;
	uint32_t utid;
};

/* The last events of a device and sector that no block_rq_complete followed. */
struct open_request {
	struct {
		int64_t dev, sector;
	} key;
	bool inserted, issued;
	int64_t insert_ts, issue_ts, bytes;
	uint32_t insert_utid, issue_utid;
	UT_hash_handle hh;
};

struct requests {
	const struct pass_input *in;
	struct open_request *open; /* owned hash */
	uint32_t next; /* row of ftrace_event */
	size_t at; /* see table_next_ts() */
	bool failed;
};

/* The fields of block_rq_insert, block_rq_issue and block_rq_complete, which have the same
 * numbers. */
struct block_event {
	int64_t dev, sector, sectors;
	enum operation op;
};

static enum operation operation_of(const struct pb_field *rwbs)
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
			ret.op = operation_of(&f);
	return ret;
}

static struct open_request *find_open(struct requests *r, const struct block_event *e, bool make)
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

static void begin(struct requests *r, const struct block_event *e, bool issued, int64_t ts,
		  uint32_t utid)
{
	struct open_request *o = find_open(r, e, true);

	if (!o)
		return;
	if (issued) {
		/* An issue right after an issue has no insert. */
		o->inserted &= !o->issued;
		o->issued = true;
		o->issue_ts = ts;
		o->issue_utid = utid;
		o->bytes = (int64_t)(512 * (uint64_t)e->sectors);
	} else {
		o->inserted = true;
		o->issued = false;
		o->insert_ts = ts;
		o->insert_utid = utid;
	}
}

static bool is_counted(const struct pass_input *in, const struct request *q)
{
	const struct table *threads = &in->s->tables[TABLE_THREAD];

	return q->ts >= in->from && q->ts <= in->to && q->utid < threads->rows &&
	       (in->chosen[q->utid] ||
		(!in->some && table_u8(threads, THREAD_IS_IDLE, q->utid) == 1));
}

/* Ends what is open. Returns false if it is no request that counts. */
static bool end(struct requests *r, const struct block_event *e, int64_t ts, struct request *ret)
{
	struct open_request *o = find_open(r, e, false);
	bool issued = o && o->issued;

	if (!o)
		return false;
	*ret = (struct request){
		.dev = e->dev,
		.sector = e->sector,
		.bytes = o->bytes,
		.ts = o->issue_ts,
		.dur = (int64_t)((uint64_t)ts - (uint64_t)o->issue_ts),
		.queued =
			o->inserted ? (int64_t)((uint64_t)o->issue_ts - (uint64_t)o->insert_ts) : 0,
		.op = e->op,
		.utid = o->inserted ? o->insert_utid : o->issue_utid};
	HASH_DEL(r->open, o);
	free(o);
	return issued && is_counted(r->in, ret);
}

/* Finds the next request that is complete. */
static bool next_request(struct requests *r, struct request *ret)
{
	const struct table *t = &r->in->s->tables[TABLE_FTRACE];

	while (r->next < t->rows && !r->failed) {
		uint32_t row = r->next++;
		uint16_t kind = table_u16(t, FTRACE_KIND, row);
		struct block_event e;
		int64_t ts;

		if ((kind != PB_FTRACE_EVENT_BLOCK_RQ_INSERT &&
		     kind != PB_FTRACE_EVENT_BLOCK_RQ_ISSUE &&
		     kind != PB_FTRACE_EVENT_BLOCK_RQ_COMPLETE) ||
		    !pass_cpu_counts(r->in, table_u32(t, FTRACE_CPU, row)))
			continue;
		ts = table_next_ts(t, FTRACE_TS, row, &r->at);
		e = read_event(r->in->s, row);
		if (kind != PB_FTRACE_EVENT_BLOCK_RQ_COMPLETE)
			begin(r, &e, kind == PB_FTRACE_EVENT_BLOCK_RQ_ISSUE, ts,
			      table_u32(t, FTRACE_UTID, row));
		else if (end(r, &e, ts, ret))
			return true;
	}
	return false;
}

static void requests_deinit(struct requests *r)
{
	struct open_request *o, *next;

	HASH_ITER (hh, r->open, o, next) {
		HASH_DEL(r->open, o);
		free(o);
	}
}

/* ---- the passes ---- */

/* All requests that count. */
struct request_list {
	struct request *list; /* owned */
	size_t n, cap;
};

void request_list_free(struct request_list *l)
{
	if (l)
		free(l->list);
	free(l);
}

/* Returns the requests, which the passes share, or NULL without memory. */
static const struct request_list *list_requests(const struct pass_input *in)
{
	struct request_list *l = *in->requests;
	struct requests r = {.in = in};
	struct request q;

	if (l)
		return l;
	l = calloc(1, sizeof(*l));
	while (l && next_request(&r, &q)) {
		if (array_reserve(&l->list, &l->cap, l->n + 1, sizeof(q)))
			r.failed = true;
		else
			l->list[l->n++] = q;
	}
	requests_deinit(&r);
	if (r.failed) {
		request_list_free(l);
		l = NULL;
	}
	*in->requests = l;
	return l;
}

enum request_key { BY_DEVICE, BY_LENGTH, BY_WHO };

/* flagged: the time in the queue; other: bytes. */
static void add_requests(const struct request_list *l, enum request_key by,
			 const struct pass_who *who, struct groups *g)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct request *q = &l->list[i];
		uint64_t key = by == BY_DEVICE	 ? (uint64_t)q->dev * OPS + q->op
			       : by == BY_LENGTH ? pass_length(q->dur)
						 : (uint64_t)who->of[q->utid] * OPS + q->op;
		struct group *group = groups_add(
			g, &(struct group_sample){.key = key, .ns = q->dur, .ts = q->ts});

		if (group && !g->placing) {
			group->flagged += (uint64_t)q->queued;
			group->other += (uint64_t)q->bytes;
		}
	}
}

void pass_requests(const struct pass_input *in, struct pass_rows *ret)
{
	enum request_key by = !strcmp(in->by, "device")	  ? BY_DEVICE
			      : !strcmp(in->by, "length") ? BY_LENGTH
							  : BY_WHO;
	struct groups g = {.n = 0};
	const struct request_list *l = list_requests(in);
	struct pass_who who;
	bool good = pass_who_init(&who, in) && l;

	if (good)
		add_requests(l, by, &who, &g);
	if (good && groups_place(&g))
		add_requests(l, by, &who, &g);
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

static int by_row(const void *a, const void *b)
{
	uint32_t x = ((const struct largest_item *)a)->row,
		 y = ((const struct largest_item *)b)->row;

	return x < y ? -1 : x > y;
}

void pass_longest_requests(const struct pass_input *in, struct pass_rows *ret)
{
	struct largest l = {.most = (size_t)in->top};
	const struct request_list *all = list_requests(in);

	for (size_t i = 0; all && i < all->n; i++)
		largest_add(&l, all->list[i].dur, (uint32_t)i, 0);
	if (l.n)
		qsort(l.items, l.n, sizeof(*l.items), by_row);
	for (size_t i = 0; i < l.n; i++) {
		const struct request *q = &all->list[l.items[i].row];

		PASS_ROW(ret, q->dev, q->op, q->bytes, q->sector, q->utid, q->queued, q->ts,
			 q->dur);
	}
	ret->failed |= !all || l.failed;
	free(l.items);
}
