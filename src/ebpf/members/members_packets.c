/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/members/members_packets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/text/str.h"
#include "gen/fields.h"

int members_packets_init(struct members_packets *p, struct writer *w, struct member_groups *g)
{
	*p = (struct members_packets){.writer = w, .groups = g, .packet = 1};
	p->rows = calloc(MEMBERS_ROWS_EACH, sizeof(*p->rows));
	p->ids = calloc(MEMBERS_ROWS_EACH, sizeof(*p->ids));
	return p->rows && p->ids ? 0 : -ENOMEM;
}

void members_packets_deinit(struct members_packets *p)
{
	free(p->rows);
	free(p->ids);
	*p = (struct members_packets){0};
}

/* ---- rows ---- */

void members_packets_add_row(struct members_packets *p, const struct member_row *row,
			     bool is_initial)
{
	struct member_row *r;
	struct group_entry *e;

	if (p->n == MEMBERS_ROWS_EACH || (p->n && p->is_initial != is_initial))
		members_packets_end(p);
	p->is_initial = is_initial;
	r = &p->rows[p->n];
	*r = *row;
	/* Neighbouring rows are mostly in the same group. */
	if (p->n && p->ids[r[-1].group] == row->group) {
		r->group = r[-1].group;
		p->n++;
		return;
	}
	e = member_groups_get(p->groups, row->group);
	if (!e) {
		p->refused++;
		return;
	}
	if (e->packet != p->packet) {
		e->packet = p->packet;
		e->index = p->n_ids;
		p->ids[p->n_ids++] = e->id;
	}
	r->group = e->index;
	p->n++;
}

static void put_columns(const struct members_packets *p, struct pb_enc *e, uint64_t time)
{
	uint32_t tid = 0;

	pb_enc_open(e, PB_CGROUP_MEMBERS_TIME_DELTA);
	for (uint32_t i = 0; i < p->n; i++) {
		pb_enc_packed_varint(e, pb_zigzag((int64_t)(p->rows[i].time - time)));
		time = p->rows[i].time;
	}
	pb_enc_close(e);
	pb_enc_open(e, PB_CGROUP_MEMBERS_TID_DELTA);
	for (uint32_t i = 0; i < p->n; i++) {
		pb_enc_packed_varint(e, pb_zigzag((int64_t)p->rows[i].tid - tid));
		tid = p->rows[i].tid;
	}
	pb_enc_close(e);
	pb_enc_open(e, PB_CGROUP_MEMBERS_TGID_DELTA);
	for (uint32_t i = 0; i < p->n; i++)
		pb_enc_packed_varint(e, pb_zigzag((int64_t)p->rows[i].tgid - p->rows[i].tid));
	pb_enc_close(e);
	pb_enc_open(e, PB_CGROUP_MEMBERS_GROUP);
	for (uint32_t i = 0; i < p->n; i++)
		pb_enc_packed_varint(e, p->rows[i].group);
	pb_enc_close(e);
}

void members_packets_end(struct members_packets *p)
{
	struct pb_enc *e;

	if (!p->n)
		return;
	e = writer_begin(p->writer);
	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, p->rows[0].time);
	pb_enc_open(e, PB_TRACE_PACKET_CGROUP_MEMBERS);
	pb_enc_open(e, PB_CGROUP_MEMBERS_GROUP_IDS);
	for (uint32_t i = 0; i < p->n_ids; i++)
		pb_enc_packed_varint(e, p->ids[i]);
	pb_enc_close(e);
	put_columns(p, e, p->rows[0].time);
	if (p->is_initial)
		pb_enc_bool(e, PB_CGROUP_MEMBERS_IS_INITIAL, true);
	pb_enc_close(e);
	writer_end(p->writer);
	p->n = p->n_ids = 0;
	p->packet++;
}

/* ---- groups ---- */

static void put_path(struct pb_enc *e, const char *path)
{
	_cleanup_(freep) char *plain = strdup(path);

	if (!plain)
		return;
	str_make_plain(plain, strlen(plain), "");
	pb_enc_str(e, PB_CGROUP_TREE_GROUP_PATH, plain);
}

static void put_text(struct pb_enc *e, uint32_t field, const char *text)
{
	if (*text)
		pb_enc_str(e, field, text);
}

static void put_group(const struct members_packets *p, struct pb_enc *e,
		      const struct cgroup_row *row)
{
	pb_enc_u64(e, PB_CGROUP_TREE_GROUP_ID, row->id);
	if (row->parent)
		pb_enc_u64(e, PB_CGROUP_TREE_GROUP_PARENT_ID, row->parent);
	put_path(e, row->path);
	put_text(e, PB_CGROUP_TREE_GROUP_KIND, cgroup_kind_name(row->kind));
	/* Before the files of the runtime are read, the container of any other group is only a
	 * guess. */
	if (row->is_named || row->kind >= CGROUP_POD) {
		put_text(e, PB_CGROUP_TREE_GROUP_RUNTIME, cgroup_runtime_name(row->runtime));
		put_text(e, PB_CGROUP_TREE_GROUP_CONTAINER, row->container);
	}
	put_text(e, PB_CGROUP_TREE_GROUP_UNIT, row->unit);
	put_text(e, PB_CGROUP_TREE_GROUP_POD_UID, row->pod_uid);
	put_text(e, PB_CGROUP_TREE_GROUP_INVOCATION_ID, row->invocation);
	if (p->hides_names)
		return;
	put_text(e, PB_CGROUP_TREE_GROUP_NAME, row->name);
	put_text(e, PB_CGROUP_TREE_GROUP_IMAGE, row->image);
	put_text(e, PB_CGROUP_TREE_GROUP_POD, row->pod);
	put_text(e, PB_CGROUP_TREE_GROUP_NAMESPACE, row->namespace);
}

bool members_packets_write_groups(struct members_packets *p)
{
	struct group_entry *g = member_groups_next_unwritten(p->groups);
	struct pb_enc *e;

	if (!g)
		return false;
	e = writer_begin(p->writer);
	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, clock_boot_ns());
	pb_enc_open(e, PB_TRACE_PACKET_CGROUP_TREE);
	for (unsigned i = 0; g && i < MEMBERS_GROUPS_EACH; i++) {
		pb_enc_open(e, PB_CGROUP_TREE_GROUPS);
		put_group(p, e, cgroup_names_find(p->groups->names, g->id));
		pb_enc_close(e);
		member_groups_mark_written(p->groups, g);
		g = member_groups_next_unwritten(p->groups);
	}
	pb_enc_close(e);
	writer_end(p->writer);
	return true;
}

void members_packets_write_stats(struct members_packets *p, uint64_t lost,
				 const char *polled_because, uint32_t poll_ms)
{
	struct pb_enc *e = writer_begin(p->writer);

	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, clock_boot_ns());
	pb_enc_open(e, PB_TRACE_PACKET_CGROUP_MEMBERS);
	pb_enc_u64(e, PB_CGROUP_MEMBERS_LOST, lost);
	if (polled_because) {
		pb_enc_str(e, PB_CGROUP_MEMBERS_POLLED_BECAUSE, polled_because);
		pb_enc_u64(e, PB_CGROUP_MEMBERS_POLL_MS, poll_ms);
	}
	pb_enc_close(e);
	writer_end(p->writer);
}
