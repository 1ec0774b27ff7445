/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Block I/O: latency, throughput and requests in flight of devices, and bytes by process.
 *
 *	insert   into the queue of a scheduler, if there is one: the submitter still runs
 *	issue    to the driver: the latency starts; without an insert the current process is charged
 *	requeue  the driver returned it: it will be issued again
 *	merge    it became part of another request
 *	complete some bytes are done: a request may be completed in parts
 *
 * Between these a request is identified by its address, one of a fixed set for each device: a stale
 * entry is overwritten when the address is reused. (rq->io_start_time_ns would need no hash, but
 * most devices leave it 0, and otherwise it is the time of the plug, not of the issue.) Records of
 * events have no address: there a request is identified by its sector and operation, which two
 * requests in flight rarely share.
 *
 * Completions of a device are handled on few CPUs: counts are shared by all CPUs, with atomic adds.
 * Per-CPU histograms would take 4 KB for each CPU, device and operation, read 10 times a second.
 */
#include "common.h"

#include "outliers.h"

#include "block.h"

/* From the kernel's enum req_op; these have never changed. */
#define REQ_OP_MASK 0xff
#define REQ_OP_READ 0
#define REQ_OP_WRITE 1
#define REQ_OP_FLUSH 2
#define REQ_OP_DISCARD 3
#define REQ_OP_SECURE_ERASE 5
#define REQ_OP_WRITE_ZEROES 9

struct request_id {
#ifdef SONDA_RECORDS
	__u64 sector; /* first sector that is not complete */
	struct block_key key;
#else
	__u64 address;
#endif
};

/* What a tracepoint reports about a request. */
struct seen {
	struct request_id id;
	struct block_key key;
	__u32 bytes; /* without SONDA_RECORDS for outliers only, as is the next */
	__u64 sector;
	struct gendisk *disk; /* NULL in records */
};

struct in_flight {
	struct block_key key;
	__u64 since; /* issue to the driver; 0: not issued */
	__u32 tgid; /* the process that is charged */
	__u32 is_counted;
	__u32 tid, bytes; /* tid: the thread that is charged; bytes: as in struct seen */
	__u64 sector;
	__u64 alive; /* a CLOCK_BOOTTIME at which tgid existed */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, struct request_id);
	__type(value, struct in_flight);
} requests SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, BLOCK_DISKS_MAX);
	__type(key, struct block_key);
	__type(value, struct block_disk);
} disks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, __u32);
	__type(value, struct block_process);
} processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct block_lost);
} lost SEC(".maps");

static const struct block_disk no_disk;
static const struct block_process no_process;

#define COUNT_LOST(what)                                                                           \
	do {                                                                                       \
		__u32 zero = 0;                                                                    \
		struct block_lost *l = bpf_map_lookup_elem(&lost, &zero);                          \
		if (l)                                                                             \
			__sync_fetch_and_add(&l->what, 1);                                         \
	} while (0)

/* Returns the counts of a disk and operation, or NULL. If seen is not NULL, creates those that are
 * missing; if there is no room for them, the disk is counted as lost. */
static __always_inline struct block_disk *disk_counts(const struct block_key *key,
						      const struct seen *seen)
{
	struct block_disk *d = bpf_map_lookup_elem(&disks, key);

	if (d || !seen)
		return d;
	bpf_map_update_elem(&disks, key, &no_disk, BPF_NOEXIST);
	d = bpf_map_lookup_elem(&disks, key);
	if (!d)
		COUNT_LOST(disks);
#ifndef SONDA_RECORDS
	else
		bpf_probe_read_kernel_str(d->name, sizeof(d->name), seen->disk->disk_name);
#endif
	return d;
}

static __always_inline struct block_process *process_counts(__u32 tgid)
{
	struct block_process *p = bpf_map_lookup_elem(&processes, &tgid);

	if (p)
		return p;
	bpf_map_update_elem(&processes, &tgid, &no_process, BPF_NOEXIST);
	p = bpf_map_lookup_elem(&processes, &tgid);
	if (!p)
		COUNT_LOST(processes);
	return p;
}

/* Describes a request, and charges it to the current process. */
static __always_inline void describe_request(const struct seen *s, struct in_flight *w)
{
	__u64 id = bpf_get_current_pid_tgid();

	w->key = s->key;
	w->tid = (__u32)id;
	w->tgid = id >> 32;
	w->is_counted = is_current_counted(w->tgid);
	w->alive = bpf_ktime_get_boot_ns();
	w->bytes = s->bytes;
	w->sector = s->sector;
}

/* Updates the number in flight: issued (1), or returned without completion (-1). */
static __always_inline void count_requests_begun(const struct in_flight *w, const struct seen *s,
						 __s64 n)
{
	struct block_disk *d = disk_counts(&w->key, s);
	struct block_process *p;

	if (d)
		__sync_fetch_and_add(&d->begun, n);
	if (!w->is_counted)
		return;
	p = process_counts(w->tgid);
	if (!p)
		return;
	__sync_fetch_and_add(&p->begun, n);
	p->alive = w->alive;
}

static __always_inline void on_insert(const struct seen *s)
{
	struct in_flight w = {.since = 0};

	describe_request(s, &w);
	if (bpf_map_update_elem(&requests, &s->id, &w, BPF_ANY) < 0)
		COUNT_LOST(requests);
}

static __always_inline void on_issue(const struct seen *s)
{
	struct in_flight w = {.since = 0}, *known;

	describe_request(s, &w);
	known = bpf_map_lookup_elem(&requests, &s->id);
	if (known && known->since) {
		/* A stale request at this address, whose end was missed. */
		count_requests_begun(known, NULL, -1);
	} else if (known) {
		w.tgid = known->tgid;
		w.tid = known->tid;
		w.is_counted = known->is_counted;
		w.alive = known->alive;
	}
	w.since = bpf_ktime_get_boot_ns();
	if (bpf_map_update_elem(&requests, &s->id, &w, BPF_ANY) < 0)
		COUNT_LOST(requests);
	else
		count_requests_begun(&w, s, 1);
}

static __always_inline void on_requeue(const struct seen *s)
{
	struct in_flight *w = bpf_map_lookup_elem(&requests, &s->id);

	if (!w || !w->since)
		return;
	count_requests_begun(w, NULL, -1);
	w->since = 0;
}

static __always_inline void on_merge(const struct seen *s)
{
	bpf_map_delete_elem(&requests, &s->id);
}

static __always_inline void count_bytes(struct block_process *p, __u32 op, __u32 bytes)
{
	if (op == BLOCK_READ)
		__sync_fetch_and_add(&p->read, bytes);
	else if (op == BLOCK_WRITE)
		__sync_fetch_and_add(&p->written, bytes);
}

static __always_inline void report_outlier(const struct in_flight *w, const char *disk,
					   __u64 latency)
{
	struct sonda_event_text *e = outlier_begin(latency, w->since, w->tgid, w->tid);

	if (!e)
		return;
	switch (w->key.op) {
	case BLOCK_READ:
		OUTLIER_NAME(e, "block read");
		break;
	case BLOCK_WRITE:
		OUTLIER_NAME(e, "block write");
		break;
	case BLOCK_DISCARD:
		OUTLIER_NAME(e, "block discard");
		break;
	default:
		OUTLIER_NAME(e, "block flush");
	}
	OUTLIER_VALUE(e, 0, "sector", w->sector);
	OUTLIER_VALUE(e, 1, "bytes", w->bytes);
	OUTLIER_TEXT(e, "device", disk);
	outlier_end(e);
}

/* Counts the completion of that many bytes; is_whole: the completion ends the request. */
static __always_inline void count_completion(const struct in_flight *w, __u32 error, __u32 bytes,
					     int is_whole, __u64 now)
{
	struct block_disk *d = disk_counts(&w->key, NULL);
	struct block_process *p = NULL;
	__u64 latency;

	if (w->is_counted)
		p = process_counts(w->tgid);
	if (p && !error)
		count_bytes(p, w->key.op, bytes);
	if (p && is_whole)
		__sync_fetch_and_add(&p->ended, 1);
	if (p && !p->alive)
		p->alive = w->alive;
	if (d && !error)
		__sync_fetch_and_add(&d->bytes, bytes);
	if (!d || !is_whole)
		return;
	__sync_fetch_and_add(&d->ended, 1);
	if (!w->is_counted)
		return;
	/* Another CPU's clock may be ahead by a little. */
	latency = now > w->since ? now - w->since : 0;
	sonda_hist_add_atomic(&d->latency, latency);
	__sync_fetch_and_add(&d->latency_ns, latency);
	sonda_max_put(&d->latency_max, generation, latency);
	report_outlier(w, d->name, latency);
}

#ifndef SONDA_RECORDS
static __always_inline struct gendisk *request_disk(struct request *rq)
{
	if (bpf_core_field_exists(struct request___before_5_17, rq_disk))
		return ((struct request___before_5_17 *)rq)->rq_disk;
	return rq->q->disk;
}

static __always_inline int request_op(struct request *rq)
{
	switch (rq->cmd_flags & REQ_OP_MASK) {
	case REQ_OP_READ:
		return BLOCK_READ;
	case REQ_OP_WRITE:
		return BLOCK_WRITE;
	case REQ_OP_FLUSH:
		return BLOCK_FLUSH;
	case REQ_OP_DISCARD:
	case REQ_OP_SECURE_ERASE:
	case REQ_OP_WRITE_ZEROES:
		return BLOCK_DISCARD;
	}
	return -1; /* of zones, and commands of the driver's own */
}

/* Describes a request in *s. Returns 0 for a device or operation that is not counted. */
static __always_inline int read_request(struct request *rq, struct seen *s)
{
	int op = request_op(rq);

	s->disk = request_disk(rq);
	if (!s->disk || op < 0)
		return 0;
	s->id.address = (__u64)rq;
	s->key.disk = (__u32)s->disk->major << 20 | s->disk->first_minor;
	s->key.op = op;
	if (settings.outlier_ns) {
		s->bytes = rq->__data_len;
		s->sector = rq->__sector;
	}
	return 1;
}

/* Up to 5.10 the queue was the first argument. */
#define REQUEST_PROGRAMS(event, function)                                                          \
	SEC("tp_btf/" #event) int BPF_PROG(event##_1, struct request *rq)                          \
	{                                                                                          \
		struct seen s = {};                                                                \
                                                                                                   \
		if (read_request(rq, &s))                                                          \
			function(&s);                                                              \
		return 0;                                                                          \
	}                                                                                          \
	SEC("tp_btf/" #event)                                                                      \
	int BPF_PROG(event##_2, struct request_queue *q, struct request *rq)                       \
	{                                                                                          \
		struct seen s = {};                                                                \
                                                                                                   \
		if (read_request(rq, &s))                                                          \
			function(&s);                                                              \
		return 0;                                                                          \
	}

REQUEST_PROGRAMS(block_rq_insert, on_insert)
REQUEST_PROGRAMS(block_rq_issue, on_issue)
REQUEST_PROGRAMS(block_rq_requeue, on_requeue)
REQUEST_PROGRAMS(block_rq_merge, on_merge)

SEC("tp_btf/block_rq_complete")
int BPF_PROG(on_complete, struct request *rq, unsigned char error, unsigned int bytes)
{
	__u64 now = bpf_ktime_get_boot_ns();
	struct request_id id = {.address = (__u64)rq};
	struct in_flight *w = bpf_map_lookup_elem(&requests, &id);
	int is_whole = bytes >= rq->__data_len;

	if (!w || !w->since)
		return 0;
	count_completion(w, error, bytes, is_whole, now);
	if (is_whole)
		bpf_map_delete_elem(&requests, &id);
	return 0;
}
#else
/* Returns the operation that the letters in the record mean, or -1. Requests without one are not
 * counted (zones, commands of the driver, zeroes that the device writes). */
static __always_inline int record_op(void *record, __u32 field)
{
	char c[2] = {};

	bpf_probe_read_kernel(c, sizeof(c), record + settings.fields[field].offset);
	/* An F before W or D is a flush before a write or discard, which counts; else it is a
	 * flush. */
	if (c[0] == 'F' && (c[1] == 'W' || c[1] == 'D'))
		c[0] = c[1];
	switch (c[0]) {
	case 'R':
		return BLOCK_READ;
	case 'W':
		return BLOCK_WRITE;
	case 'F':
		return BLOCK_FLUSH;
	case 'D':
		return BLOCK_DISCARD;
	}
	return -1;
}

static __always_inline int read_request(void *ctx, __u32 event, struct seen *s)
{
	int op = record_op(ctx, BLOCK_RWBS(event));

	s->key.disk = ARG(0, BLOCK_DEV(event));
	if (!s->key.disk || op < 0)
		return 0;
	s->key.op = op;
	s->sector = ARG(0, BLOCK_SECTOR(event));
	s->id.key = s->key;
	/* A flush has no sector; records store 0 or -1. */
	s->id.sector = op == BLOCK_FLUSH ? 0 : s->sector;
	if (event == BLOCK_ISSUE)
		s->bytes = ARG(0, BLOCK_BYTES);
	return 1;
}

#define REQUEST_PROGRAM(name, event, function)                                                     \
	SEC("tp/block/" #name) int BPF_PROG(name)                                                  \
	{                                                                                          \
		struct seen s = {};                                                                \
                                                                                                   \
		if (read_request(ctx, event, &s))                                                  \
			function(&s);                                                              \
		return 0;                                                                          \
	}

REQUEST_PROGRAM(block_rq_insert, BLOCK_INSERT, on_insert)
REQUEST_PROGRAM(block_rq_issue, BLOCK_ISSUE, on_issue)
REQUEST_PROGRAM(block_rq_requeue, BLOCK_REQUEUE, on_requeue)
REQUEST_PROGRAM(block_rq_merge, BLOCK_MERGE, on_merge)

/* Counts a completion. A request may be completed in parts: the rest starts at a later sector. */
static __always_inline void on_complete(const struct seen *s, __u32 error, __u32 bytes, __u64 now)
{
	struct in_flight *w = bpf_map_lookup_elem(&requests, &s->id), rest;
	struct request_id id = s->id;
	int is_whole;

	if (!w || !w->since)
		return;
	is_whole = bytes >= w->bytes;
	count_completion(w, error, bytes, is_whole, now);
	rest = *w;
	bpf_map_delete_elem(&requests, &s->id);
	if (is_whole)
		return;
	rest.bytes -= bytes;
	id.sector += bytes >> 9;
	if (bpf_map_update_elem(&requests, &id, &rest, BPF_ANY) < 0)
		COUNT_LOST(requests);
}

SEC("tp/block/block_rq_complete")
int BPF_PROG(block_rq_complete)
{
	__u64 now = bpf_ktime_get_boot_ns();
	struct seen s = {};

	if (read_request(ctx, BLOCK_COMPLETE, &s))
		on_complete(&s, ARG(0, BLOCK_ERROR), ARG(0, BLOCK_DONE) << 9, now);
	return 0;
}
#endif
