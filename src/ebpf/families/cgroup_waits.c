/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A group that had no wait in IDLE_READS reads leaves the map, so that removed groups make room for
 * new ones. If it has a wait later, it is a new element.
 */
#include "ebpf/families/cgroup_waits.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "base/core/hash_table.h"
#include "base/core/mem.h"
#include "bpf/histogram.h"

#include "bpf/cgroup_waits.h"
#include "client/transport/writer.h"
#include "ebpf/engine/map.h"
#include "gen/fields.h"

#define CGROUP_WAITS_MS 1000 /* between two packets */
#define IDLE_READS 10u

/* A group of the map. */
struct waiting_group {
	uint64_t id; /* key */
	UT_hash_handle hh;
	struct cgroup_waits last; /* what is written */
	uint32_t idle_reads;
};

struct cgroup_waits_reader {
	const struct ebpf_run *run; /* borrowed */
	struct map_reader map;
	struct waiting_group *by_id; /* owned entries */
	uint64_t from, now; /* CLOCK_BOOTTIME: of the last read and of this one */
	uint64_t lost, lost_written;
	struct pb_enc *e; /* NULL: no packet is open */
	uint32_t n_rows; /* of the open packet */
};

void cgroup_waits_prepare(struct ebpf_object *o, const struct ebpf_features *f)
{
	/* On other kernels, memory would come from an allocator that takes locks. */
	if (f->has_member(f->ctx, "bpf_htab", "ma"))
		ebpf_object_set_map_flags(o, "cgroup_waits", BPF_F_NO_PREALLOC);
}

int cgroup_waits_reader_new(const struct ebpf_run *r, struct cgroup_waits_reader **ret)
{
	int fd = ebpf_object_map(r->object, "cgroup_waits");
	struct cgroup_waits_reader *c;

	if (fd < 0)
		return fd;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->run = r;
	c->map = (struct map_reader){
		.fd = fd, .key_size = sizeof(uint64_t), .value_size = sizeof(struct cgroup_waits)};
	c->from = clock_boot_ns();
	*ret = c;
	return 0;
}

void cgroup_waits_reader_free(struct cgroup_waits_reader *c)
{
	if (!c)
		return;
	map_reader_deinit(&c->map);
	HASH_FREE(c->by_id);
	free(c);
}

/* ---- packets ---- */

static void begin_packet(struct cgroup_waits_reader *c)
{
	/* Pending values of tracks are written before other packets. */
	tracks_end(c->run->tracks);
	c->e = writer_begin(c->run->writer);
	c->n_rows = 0;
	pb_enc_u64(c->e, PB_TRACE_PACKET_TIMESTAMP, c->now);
	pb_enc_open(c->e, PB_TRACE_PACKET_CGROUP_WAITS);
	pb_enc_u64(c->e, PB_CGROUP_WAITS_DURATION_NS, c->now - c->from);
}

static void end_packet(struct cgroup_waits_reader *c)
{
	if (!c->e)
		return;
	if (c->n_rows)
		pb_enc_close(c->e);
	if (c->lost != c->lost_written)
		pb_enc_u64(c->e, PB_CGROUP_WAITS_LOST, c->lost);
	c->lost_written = c->lost;
	pb_enc_close(c->e);
	c->e = NULL;
	writer_end(c->run->writer);
}

/* Writes a row of a group's waits. Its longest wait is written if it is longer than all before it,
 * else 0. */
static void put_row(struct cgroup_waits_reader *c, const struct waiting_group *g,
		    const struct cgroup_waits *now, uint32_t cause)
{
	const uint32_t *buckets = now->buckets + cause * CGROUP_WAITS_BUCKETS,
		       *last = g->last.buckets + cause * CGROUP_WAITS_BUCKETS;
	uint32_t n = 0;

	if (c->n_rows == CGROUP_WAITS_EACH)
		end_packet(c);
	if (!c->e)
		begin_packet(c);
	if (!c->n_rows++)
		pb_enc_open(c->e, PB_CGROUP_WAITS_ROWS);
	for (uint32_t i = 0; i < CGROUP_WAITS_BUCKETS; i++)
		n += buckets[i] != last[i];
	pb_enc_packed_varint(c->e, g->id);
	pb_enc_packed_varint(c->e, cause);
	pb_enc_packed_varint(c->e, now->total[cause] - g->last.total[cause]);
	pb_enc_packed_varint(
		c->e, now->longest[cause] > g->last.longest[cause] ? now->longest[cause] : 0);
	pb_enc_packed_varint(c->e, n);
	for (uint32_t i = 0; i < CGROUP_WAITS_BUCKETS; i++) {
		if (buckets[i] == last[i])
			continue;
		pb_enc_packed_varint(c->e, i);
		pb_enc_packed_varint(c->e, buckets[i] - last[i]);
	}
}

/* ---- reads ---- */

static struct waiting_group *waiting_group_get(struct cgroup_waits_reader *c, uint64_t id)
{
	struct waiting_group *g;

	HASH_FIND(hh, c->by_id, &id, sizeof(id), g);
	if (g)
		return g;
	g = calloc(1, sizeof(*g));
	if (!g)
		return NULL;
	g->id = id;
	HASH_ADD(hh, c->by_id, id, sizeof(g->id), g);
	if (!g->hh.tbl)
		free(TAKE_PTR(g));
	return g;
}

/* Writes the group's waits since the last read. Returns true if there were any. */
static bool write_group(struct cgroup_waits_reader *c, struct waiting_group *g,
			const struct cgroup_waits *now)
{
	bool any = false;

	for (uint32_t cause = 0; cause < CGROUP_WAIT_CAUSES; cause++) {
		if (now->total[cause] == g->last.total[cause])
			continue;
		put_row(c, g, now, cause);
		any = true;
	}
	if (any)
		g->last = *now;
	return any;
}

/* Elements change while they are read: what a wait has not added yet is in the next read. */
static void cgroup_waits_add_element(void *ctx, const void *key, const void *value)
{
	struct cgroup_waits_reader *c = ctx;
	struct waiting_group *g;
	uint64_t id;

	memcpy(&id, key, sizeof(id));
	g = waiting_group_get(c, id);
	if (g)
		g->idle_reads = write_group(c, g, value) ? 0 : g->idle_reads + 1;
}

/* Removes the groups that have been idle. A wait that ends between the last read of a group and its
 * removal is lost. */
static void remove_idle_groups(struct cgroup_waits_reader *c)
{
	struct waiting_group *g, *next;
	struct cgroup_waits now;

	HASH_ITER (hh, c->by_id, g, next) {
		if (g->idle_reads < IDLE_READS)
			continue;
		g->idle_reads = 0;
		if (bpf_map_lookup_elem(c->map.fd, &g->id, &now) == 0 && write_group(c, g, &now))
			continue;
		(void)bpf_map_delete_elem(c->map.fd, &g->id);
		HASH_DEL(c->by_id, g);
		free(g);
	}
}

int cgroup_waits_read(struct cgroup_waits_reader *c, const struct ebpf_run *r, uint64_t lost)
{
	int e;

	c->now = clock_boot_ns();
	if (!r->is_asked_for_all && c->now - c->from < CGROUP_WAITS_MS * NS_PER_MS)
		return 0;
	c->lost = lost;
	e = map_each(&c->map, cgroup_waits_add_element, c);
	remove_idle_groups(c);
	if (!c->e && c->lost != c->lost_written)
		begin_packet(c);
	end_packet(c);
	c->from = c->now;
	return e;
}
