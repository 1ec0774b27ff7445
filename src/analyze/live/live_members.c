/* SPDX-License-Identifier: Apache-2.0 */
/* linux.cgroup_members: control groups, and which threads are in them. */
#include "analyze/live/live_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "gen/fields.h"
#include "wire/pb_read.h"

static const struct {
	uint32_t field;
	enum live_group_text text;
} live_group_texts[] = {
	{PB_CGROUP_TREE_GROUP_PATH, LIVE_GROUP_PATH},
	{PB_CGROUP_TREE_GROUP_UNIT, LIVE_GROUP_UNIT},
	{PB_CGROUP_TREE_GROUP_CONTAINER, LIVE_GROUP_CONTAINER},
	{PB_CGROUP_TREE_GROUP_NAME, LIVE_GROUP_NAME},
	{PB_CGROUP_TREE_GROUP_POD, LIVE_GROUP_POD},
	{PB_CGROUP_TREE_GROUP_NAMESPACE, LIVE_GROUP_NAMESPACE},
};

static void set_group_text(struct live_group_entry *g, enum live_group_text text,
			   const struct pb_field *f)
{
	size_t n = MIN(f->len, (size_t)LIVE_GROUP_TEXT_MAX);
	char *copy = strndup((const char *)f->data, n);

	if (!copy)
		return;
	str_make_plain(copy, strlen(copy), "");
	free(g->g.texts[text]);
	g->g.texts[text] = copy;
}

static void read_group(struct live *l, const struct pb_field *message)
{
	struct live_group_entry *g;
	uint64_t id = 0;

	pb_read(message, PB_TO(PB_CGROUP_TREE_GROUP_ID, &id));
	g = id && id != LIVE_UNKNOWN_GROUP ? live_find_or_add_group(l, id) : NULL;
	if (!g)
		return;
	pb_for_each (f, message)
		for (size_t i = 0; f.data && i < ARRAY_SIZE(live_group_texts); i++)
			if (live_group_texts[i].field == f.id)
				set_group_text(g, live_group_texts[i].text, &f);
}

void live_read_groups(struct live *l, const struct packet *p)
{
	pb_for_each (f, &p->payload)
		if (f.id == PB_CGROUP_TREE_GROUPS && f.data)
			read_group(l, &f);
}

/* Sets the control group of a thread; tid 0: of all threads of the process. */
static void set_group_of_thread(struct live *l, int32_t tid, int32_t tgid, uint64_t group,
				uint64_t at)
{
	bool is_own = l->setup.by_thread ? tid != 0 : tid == 0 || tid == tgid;
	struct live_entry *p = live_find_or_add_process(l, l->setup.by_thread && tid ? tid : tgid);

	if (!p)
		return;
	/* The process of a thread that moved alone is where its main thread is. */
	if (is_own || !p->p.group)
		p->p.group = group;
	if (l->setup.by_thread && tid)
		p->p.tgid = tgid;
	p->seen_at = MAX(p->seen_at, at);
}

/* The columns of a packet; a row ends where the shortest column ends. */
struct live_member_columns {
	struct pb_packed tid, tgid, group;
};

static bool next_live_member(struct live_member_columns *c, uint64_t *tid, uint64_t *tgid,
			     uint64_t *group)
{
	uint64_t tid_delta, tgid_delta;

	if (!pb_packed_next(&c->tid, &tid_delta) || !pb_packed_next(&c->tgid, &tgid_delta) ||
	    !pb_packed_next(&c->group, group))
		return false;
	*tid += (uint64_t)pb_unzigzag(tid_delta);
	*tgid = *tid + (uint64_t)pb_unzigzag(tgid_delta);
	return true;
}

static size_t read_group_ids(const struct pb_field *message, uint64_t **ret)
{
	uint64_t *ids = NULL, id;
	size_t n = 0, cap = 0;

	for (struct pb_packed p = pb_packed_of(message);
	     message->data && pb_packed_next(&p, &id);) {
		if (array_reserve(&ids, &cap, n + 1, sizeof(*ids)))
			break;
		ids[n++] = id;
	}
	*ret = ids;
	return n;
}

static void set_polling_reason(struct live *l, const struct pb_field *because)
{
	struct strbuf line = {0};

	strbuf_puts(&line, "control groups come from /proc/PID/cgroup: ");
	strbuf_add(&line, because->data, because->len);
	live_add_failure(l, &line);
	strbuf_deinit(&line);
}

void live_read_members(struct live *l, const struct packet *p)
{
	struct pb_field ids = {0}, tid_field = {0}, tgid_field = {0}, group_field = {0},
			polled = {0};
	_cleanup_(freep) uint64_t *groups = NULL;
	uint64_t tid = 0, tgid, group, lost = 0;
	struct live_member_columns c;
	size_t n;

	if (!pb_read(&p->payload, PB_TO(PB_CGROUP_MEMBERS_GROUP_IDS, &ids),
		     PB_TO(PB_CGROUP_MEMBERS_TID_DELTA, &tid_field),
		     PB_TO(PB_CGROUP_MEMBERS_TGID_DELTA, &tgid_field),
		     PB_TO(PB_CGROUP_MEMBERS_GROUP, &group_field),
		     PB_TO(PB_CGROUP_MEMBERS_LOST, &lost),
		     PB_TO(PB_CGROUP_MEMBERS_POLLED_BECAUSE, &polled))) {
		l->losses.bad_packets++;
		return;
	}
	l->losses.members = MAX(l->losses.members, lost);
	if (polled.data)
		set_polling_reason(l, &polled);
	if (!ids.data || !tid_field.data || !tgid_field.data || !group_field.data)
		return;
	n = read_group_ids(&ids, &groups);
	c = (struct live_member_columns){pb_packed_of(&tid_field), pb_packed_of(&tgid_field),
					 pb_packed_of(&group_field)};
	while (next_live_member(&c, &tid, &tgid, &group))
		if (group < n && tid <= INT32_MAX && tgid && tgid <= INT32_MAX)
			set_group_of_thread(l, (int32_t)tid, (int32_t)tgid, groups[group],
					    p->timestamp);
}
