/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that packets are about, by pid. */
#include "analyze/live/live_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"

struct live_entry *live_process_of(struct live *l, int32_t pid)
{
	struct live_entry *p;

	HASH_FIND(hh, l->processes, &pid, sizeof(pid), p);
	if (p)
		return p;
	if (HASH_COUNT(l->processes) >= LIVE_PROCESSES_MAX) {
		l->losses.processes++;
		return NULL;
	}
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->p.pid = pid;
	HASH_ADD(hh, l->processes, p.pid, sizeof(p->p.pid), p);
	if (!p->hh.tbl)
		free(TAKE_PTR(p));
	return p;
}

void live_note_seen(const struct live *l, struct live_entry *p, uint64_t at)
{
	p->seen_at = MAX(p->seen_at, at);
	p->seen_in = l->polls;
}

void live_set_name(struct live_entry *p, const void *name, size_t len)
{
	size_t n = MIN(len, sizeof(p->p.name) - 1);

	memcpy(p->p.name, name, n);
	p->p.name[n] = '\0';
	str_make_plain(p->p.name, n, "");
}

void live_forget_process(struct live *l, struct live_entry *p)
{
	HASH_DEL(l->processes, p);
	free(p);
}

/* Starts all counters of the process anew: another process has its pid, and its tracks. */
static void renew_process(struct live *l, struct live_entry *p)
{
	struct live_track *t, *next;

	HASH_ITER (hh, l->tracks, t, next)
		if (t->pid == p->p.pid)
			t->has_last = false;
	memset(p->p.values, 0, sizeof(p->p.values));
	p->has_last = 0;
	p->p.has_rss = false;
}

void live_set_start(struct live *l, struct live_entry *p, uint64_t start_ns)
{
	if (!start_ns)
		return;
	if (p->start_ns && p->start_ns != start_ns)
		renew_process(l, p);
	p->start_ns = start_ns;
}
