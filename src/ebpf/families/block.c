/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/families/families.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "bpf/block.h"
#include "ebpf/engine/images.h"
#include "ebpf/engine/map.h"
#include "ebpf/engine/object.h"
#include "ebpf/tracks/counter.h"
#include "ebpf/tracks/histogram_rows.h"
#include "ebpf/tracks/top_n.h"

EBPF_DECLARE(block);
EBPF_DECLARE(block_tp);

static const struct ebpf_need needs_of_tp_btf[] = {
	/* Up to Linux 5.10 the queue was the first argument. */
	NEED_TP_BTF("block_rq_insert", 1, 2),
	NEED_TP_BTF("block_rq_issue", 1, 2),
	NEED_TP_BTF("block_rq_requeue", 1, 2),
	NEED_TP_BTF("block_rq_complete", 3, 3),
	NEED_END,
};

#define NEED_REQUEST(event, number)                                                                \
	NEED_FIELD(event, "dev", BLOCK_DEV(number)),                                               \
		NEED_FIELD(event, "sector", BLOCK_SECTOR(number)),                                 \
		NEED_FIELD(event, "rwbs", BLOCK_RWBS(number))

/* There is no raw_tp variant: the arguments are pointers to structs, whose fields need BTF. */
static const struct ebpf_need needs_of_tp[] = {
	NEED_REQUEST("block/block_rq_insert", BLOCK_INSERT),
	NEED_REQUEST("block/block_rq_issue", BLOCK_ISSUE),
	NEED_REQUEST("block/block_rq_requeue", BLOCK_REQUEUE),
	NEED_REQUEST("block/block_rq_complete", BLOCK_COMPLETE),
	MAY_FIELD("block/block_rq_merge", "dev", BLOCK_DEV(BLOCK_MERGE)),
	MAY_FIELD("block/block_rq_merge", "sector", BLOCK_SECTOR(BLOCK_MERGE)),
	MAY_FIELD("block/block_rq_merge", "rwbs", BLOCK_RWBS(BLOCK_MERGE)),
	NEED_FIELD("block/block_rq_issue", "bytes", BLOCK_BYTES),
	NEED_FIELD("block/block_rq_complete", "nr_sector", BLOCK_DONE),
	NEED_FIELD("block/block_rq_complete", "error", BLOCK_ERROR),
	NEED_END,
};

static const struct ebpf_variant variants[] = {
	{"tp_btf", EBPF_IMAGE(block), needs_of_tp_btf},
	{"tp", EBPF_IMAGE(block_tp), needs_of_tp},
};

static const char *const op_names[BLOCK_OPS] = {"read", "write", "discard", "flush"};

static const struct track_spec process_columns[] = {
	TRACK_TOTAL("block read", "bytes read from block devices, since the recording began",
		    BYTES),
	TRACK_TOTAL("block written",
		    "bytes written to block devices, since the recording began; later writeback is "
		    "attributed to kernel threads",
		    BYTES),
	{.name = "block in flight",
	 .description = "requests that the devices have not completed",
	 .unit = TRACK_UNIT_COUNT},
};

struct op {
	uint32_t p50, p99, max, bytes, requests;
	struct sonda_hist last;
	uint64_t last_ns; /* sum of the latencies */
};

struct disk {
	uint32_t id;
	char name[BLOCK_DISK_NAME + 1];
	uint32_t group, in_flight_track;
	int64_t in_flight;
	struct op *ops[BLOCK_OPS]; /* created at the first request of the operation */
};

struct block {
	struct map_reader disks_map, processes_map;
	struct ebpf_run *run; /* borrowed */
	uint32_t group;
	struct disk *disks[BLOCK_DISKS_MAX]; /* owned */
	size_t n_disks;
	struct top_n *top;
	struct map_cpus lost;
	uint32_t lost_tracks[3];
};

/* Leaves out programs that do not fit the kernel: each tracepoint has a program for each number of
 * arguments. */
static uint32_t block_prepare(struct ebpf_object *o, const struct ebpf_features *f, uint32_t n_cpus)
{
	static const char *const hooks[] = {"block_rq_insert", "block_rq_issue", "block_rq_requeue",
					    "block_rq_merge"};

	for (size_t i = 0; i < ARRAY_SIZE(hooks); i++) {
		int args = f->count_args(f->ctx, hooks[i]);
		char name[32];

		for (int n = 1; n <= 2; n++) {
			snprintf(name, sizeof(name), "%s_%d", hooks[i], n);
			if (n != args)
				ebpf_object_leave_out_program(o, name);
		}
	}
	if (!ebpf_has_field(f, "block/block_rq_merge", "rwbs"))
		ebpf_object_leave_out_program(o, "block_rq_merge");
	return 0;
}

static int block_begin(struct ebpf_run *r)
{
	struct block *s = r->state;
	int e;

	s->run = r;
	s->disks_map = (struct map_reader){.fd = ebpf_object_map(r->object, "disks"),
					   .key_size = sizeof(struct block_key),
					   .value_size = sizeof(struct block_disk)};
	s->processes_map = (struct map_reader){.fd = ebpf_object_map(r->object, "processes"),
					       .key_size = sizeof(uint32_t),
					       .value_size = sizeof(struct block_process)};
	if (s->disks_map.fd < 0 || s->processes_map.fd < 0)
		return -ENOENT;
	e = map_cpus_init(&s->lost, ebpf_object_map(r->object, "lost"), r->n_cpus,
			  sizeof(struct block_lost));
	if (e < 0)
		return e;
	return top_n_new(r->tracks, process_columns, ARRAY_SIZE(process_columns), r->top_n,
			 r->proc_root, &s->top);
}

/* ---- disks ---- */

/* Finds the name in /proc/partitions; MAJOR:MINOR if it is not there. */
static void block_find_name(const struct ebpf_run *r, uint32_t id, char ret[BLOCK_DISK_NAME])
{
	char path[512], line[128], name[BLOCK_DISK_NAME];
	unsigned major, minor;
	FILE *f;

	snprintf(ret, BLOCK_DISK_NAME, "%u:%u", id >> 20, id & ((1u << 20) - 1));
	snprintf(path, sizeof(path), "%s/partitions", r->proc_root);
	f = fopen(path, "re");
	if (!f)
		return;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%u %u %*u %31s", &major, &minor, name) == 3 &&
		    (major << 20 | minor) == id)
			snprintf(ret, BLOCK_DISK_NAME, "%s", name);
	fclose(f);
}

static struct disk *find_or_add_disk(struct block *s, uint32_t id, const char *name)
{
	const struct ebpf_run *r = s->run;
	struct disk *d;

	for (size_t i = 0; i < s->n_disks; i++)
		if (s->disks[i]->id == id)
			return s->disks[i];
	d = s->n_disks < BLOCK_DISKS_MAX ? calloc(1, sizeof(*d)) : NULL;
	if (!d)
		return NULL;
	if (s->n_disks == 0)
		s->group = ebpf_add_group(r, r->group, "Block I/O");
	d->id = id;
	if (*name)
		snprintf(d->name, sizeof(d->name), "%s", name);
	else
		block_find_name(r, id, d->name);
	d->group = ebpf_add_group(r, s->group, d->name);
	d->in_flight_track = tracks_add(
		r->tracks,
		&(struct track_spec){.kind = TRACK_COUNTER,
				     .parent = d->group,
				     .name = "in flight",
				     .description = "requests that the device has not completed",
				     .unit = TRACK_UNIT_COUNT});
	s->disks[s->n_disks++] = d;
	return d;
}

static uint32_t add_latency(const struct ebpf_run *r, uint32_t group, const char *op,
			    const char *which, const char *description)
{
	char name[64];

	snprintf(name, sizeof(name), "%s latency %s", op, which);
	return tracks_add(r->tracks, &(struct track_spec){.kind = TRACK_COUNTER,
							  .parent = group,
							  .name = name,
							  .description = description,
							  .unit = TRACK_UNIT_NS,
							  .axis = "latency"});
}

static struct op *find_or_add_op(const struct ebpf_run *r, struct disk *d, uint32_t op)
{
	const char *const name = op_names[op];
	struct op *o = d->ops[op];
	char requests[32];

	if (o)
		return o;
	o = d->ops[op] = calloc(1, sizeof(*o));
	if (!o)
		return NULL;
	o->p50 = add_latency(r, d->group, name, "p50",
			     "half of the requests took this long or less");
	o->p99 = add_latency(r, d->group, name, "p99",
			     "99 % of the requests took this long or less");
	o->max = add_latency(r, d->group, name, "max", "duration of the longest request");
	snprintf(requests, sizeof(requests), "%s requests", name);
	o->requests =
		ebpf_add_total(r, d->group, requests,
			       "completed requests since the recording began", TRACK_UNIT_COUNT);
	if (op != BLOCK_FLUSH)
		o->bytes = ebpf_add_total(r, d->group, name,
					  "bytes of completed requests since the recording began",
					  TRACK_UNIT_BYTES);
	return o;
}

static void block_add_disk(void *ctx, const void *key, const void *value)
{
	struct block *s = ctx;
	const struct ebpf_run *r = s->run;
	const struct block_key *k = key;
	const struct block_disk *now = value;
	char name[BLOCK_DISK_NAME + 1] = {0};
	struct sonda_hist added;
	struct disk *d;
	struct op *o;
	uint64_t n, max;

	memcpy(name, now->name, BLOCK_DISK_NAME);
	d = find_or_add_disk(s, k->disk, name);
	o = d && k->op < BLOCK_OPS ? find_or_add_op(r, d, k->op) : NULL;
	if (!o)
		return;
	d->in_flight += (int64_t)(now->begun - now->ended);
	n = histogram_compute_added(&now->latency, &o->last, &added);
	histogram_rows_write(r,
			     &(struct histogram_rows){.device = d->name,
						      .operation = op_names[k->op],
						      .added = &added,
						      .n = n,
						      .sum_ns = now->latency_ns - o->last_ns},
			     clock_boot_ns());
	o->last_ns = now->latency_ns;
	max = MAX(histogram_max(&now->latency_max, r->generation), histogram_max_floor(&added));
	tracks_set(r->tracks, o->p50, (int64_t)histogram_percentile(&added, n, 50, max));
	tracks_set(r->tracks, o->p99, (int64_t)histogram_percentile(&added, n, 99, max));
	tracks_set(r->tracks, o->max, (int64_t)max);
	tracks_set(r->tracks, o->requests, (int64_t)now->ended);
	tracks_set(r->tracks, o->bytes, (int64_t)now->bytes);
}

static int read_disks(struct block *s)
{
	int e;

	for (size_t i = 0; i < s->n_disks; i++)
		s->disks[i]->in_flight = 0;
	e = map_each(&s->disks_map, block_add_disk, s);
	/* begun and ended are not read at the same moment. */
	for (size_t i = 0; i < s->n_disks && e == 0; i++)
		tracks_set(s->run->tracks, s->disks[i]->in_flight_track,
			   MAX(s->disks[i]->in_flight, 0));
	return e;
}

/* ---- processes and lost requests ---- */

static void block_add_process(void *ctx, const void *key, const void *value)
{
	struct block *s = ctx;
	const struct block_process *p = value;
	uint32_t pid;

	memcpy(&pid, key, sizeof(pid));
	/* A process whose element was evicted meanwhile may have more ended than begun requests. */
	top_n_add(
		s->top,
		&(struct top_process){
			.pid = pid,
			.alive_ns = p->alive,
			.weight = p->read + p->written,
			.values = (const uint64_t[]){p->read, p->written,
						     p->begun > p->ended ? p->begun - p->ended : 0},
		});
}

static int read_processes(struct block *s)
{
	int e;

	top_n_begin(s->top);
	e = map_each(&s->processes_map, block_add_process, s);
	if (e == 0)
		top_n_end(s->top);
	return e;
}

static int read_lost(struct block *s)
{
	const struct ebpf_run *r = s->run;
	struct block_lost sum;
	int e = map_cpus_sum(&s->lost, &sum);

	if (e < 0)
		return e;
	ebpf_set_lost(r, &s->lost_tracks[0], "block requests lost",
		      "requests not counted: too many in flight", sum.requests);
	ebpf_set_lost(r, &s->lost_tracks[1], "block disks lost",
		      "requests not counted: no room for their device", sum.disks);
	ebpf_set_lost(r, &s->lost_tracks[2], "block processes lost",
		      "requests not counted: no room for their process", sum.processes);
	return 0;
}

static int block_read_all(struct ebpf_run *r)
{
	struct block *s = r->state;
	int e = read_disks(s), f = read_processes(s), g = read_lost(s);

	return e < 0 ? e : f < 0 ? f : g;
}

/* ---- the end ---- */

static void remove_disk_tracks(struct tracks *t, const struct disk *d)
{
	for (size_t i = 0; i < BLOCK_OPS; i++) {
		const struct op *o = d->ops[i];

		if (!o)
			continue;
		tracks_remove(t, o->p50);
		tracks_remove(t, o->p99);
		tracks_remove(t, o->max);
		tracks_remove(t, o->requests);
		tracks_remove(t, o->bytes);
	}
	tracks_remove(t, d->in_flight_track);
	tracks_remove(t, d->group);
}

static void block_remove_tracks(struct ebpf_run *r)
{
	const struct block *s = r->state;

	for (size_t i = 0; i < s->n_disks; i++)
		remove_disk_tracks(r->tracks, s->disks[i]);
	tracks_remove(r->tracks, s->group);
	for (size_t i = 0; i < ARRAY_SIZE(s->lost_tracks); i++)
		tracks_remove(r->tracks, s->lost_tracks[i]);
	top_n_remove_tracks(s->top);
}

static void block_end(struct ebpf_run *r)
{
	struct block *s = r->state;

	for (size_t i = 0; i < s->n_disks; i++) {
		for (size_t op = 0; op < BLOCK_OPS; op++)
			free(s->disks[i]->ops[op]);
		free(s->disks[i]);
	}
	map_reader_deinit(&s->disks_map);
	map_reader_deinit(&s->processes_map);
	top_n_free(s->top);
	map_cpus_deinit(&s->lost);
}

const struct ebpf_family block_family = {
	.id = PB__EBPF_COUNTERS_CONFIG__FAMILY__BLOCK,
	.name = "block",
	.by_default = true,
	.outliers = EBPF_OUTLIERS_BLOCK,
	.variants = variants,
	.n_variants = ARRAY_SIZE(variants),
	.state_size = sizeof(struct block),
	.prepare = block_prepare,
	.begin = block_begin,
	.read = block_read_all,
	.remove_tracks = block_remove_tracks,
	.end = block_end,
};
