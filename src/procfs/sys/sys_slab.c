/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/text/number_table.h"
#include "base/text/str.h"
#include "gen/fields.h"
#include "procfs/sys/sys_file.h"
#include "procfs/sys/sys_source.h"

/*
 * The slab caches of the kernel. To generate /proc/slabinfo the kernel walks the list of partial
 * slabs of every cache, which takes a millisecond or more. The number of slabs is also in
 * /sys/kernel/slab/CACHE/slabs, at half the cost for all caches together. So slabinfo is read at
 * the first poll and every ten seconds to list the caches, and the files of the caches in the polls
 * between. Caches without slabs, half of them on an idle machine, are read once a second only.
 *
 * The files need CONFIG_SLUB_DEBUG. Before Linux 5.9 a cache was split by memory cgroup and only
 * slabinfo had the sum. Without usable files slabinfo is read in each poll.
 */

#define LIST_NS SYS_FILE_RETRY_NS
#define EMPTY_NS NS_PER_S
/* Above this number of caches only slabinfo is read. */
#define CACHES_MAX 1024
/* Files read in a step. */
#define STEP 32

struct cache {
	char *name; /* owned */
	uint32_t pages; /* of a slab */
	bool empty; /* it had no slabs at the last read */
	struct sys_file slabs;
};

struct sys_slab {
	struct sys_state base;
	bool by_file; /* the files of /sys may be used */
	struct cache *caches; /* owned */
	size_t n, cap;
	size_t next; /* next cache of this pass */
	bool with_empty; /* this pass reads empty caches too */
	uint64_t list_again; /* CLOCK_MONOTONIC */
	uint64_t empty_again; /* CLOCK_MONOTONIC, ns */
};

static void write_cache(struct sys_packet *p, struct span name, uint64_t pages, uint64_t slabs)
{
	struct pb_enc *e = sys_packet_open(p);

	pb_enc_open(e, PB_SYS_STATS_SLAB_INFO);
	pb_enc_bytes(e, PB_SYS_STATS_SLAB_INFO_NAME, name.p, name.len);
	pb_enc_u64(e, PB_SYS_STATS_SLAB_INFO_PAGES_PER_SLAB, sys_clamp_u32(pages));
	pb_enc_u64(e, PB_SYS_STATS_SLAB_INFO_NUM_SLABS, sys_clamp_u32(slabs));
	pb_enc_close(e);
}

/* ---- the list of caches ---- */

static void drop_caches_from(struct sys_slab *s, struct sys_packet *p, size_t from)
{
	for (size_t i = from; i < s->n; i++) {
		free(s->caches[i].name);
		sys_file_deinit(&s->caches[i].slabs, p);
	}
	s->n = MIN(s->n, from);
}

/*
 * Makes the cache of that name number i: keeps it, or replaces cache i and drops all after it.
 * Returns 0 or -errno.
 */
static int set_cache(struct sys_slab *s, struct sys_packet *p, size_t i, struct span name,
		     uint64_t pages)
{
	struct cache *c;

	if (i < s->n && span_is(name, s->caches[i].name))
		return 0;
	drop_caches_from(s, p, i);
	if (i >= CACHES_MAX)
		return -E2BIG;
	if (array_reserve(&s->caches, &s->cap, i + 1, sizeof(*s->caches)) < 0)
		return -ENOMEM;
	c = &s->caches[i];
	*c = (struct cache){.name = strndup(name.p, name.len), .pages = sys_clamp_u32(pages)};
	if (!c->name ||
	    sys_file_init(&c->slabs, true, p->sys_root, "kernel/slab/%s/slabs", c->name) < 0) {
		free(c->name);
		return -ENOMEM;
	}
	s->n++;
	return 0;
}

/* ---- slabinfo ---- */

/* "NAME active objects size perslab PAGES : tunables 0 0 0 : slabdata active SLABS shared" */
static int sys_slabinfo_parse_line(struct sys_slab *s, struct sys_packet *p, size_t i,
				   struct span line)
{
	uint64_t pages, slabs;
	struct span name;

	if (!span_next_word(&line, &name) || !number_table_skip(&line, 4) ||
	    !number_table_u64(&line, &pages) || !number_table_skip(&line, 8) ||
	    !number_table_u64(&line, &slabs))
		return -EBADMSG;
	write_cache(p, name, pages, slabs);
	if (!s->by_file)
		return 0;
	if (set_cache(s, p, i, name, pages) == 0)
		s->caches[i].empty = slabs == 0;
	else
		s->by_file = false;
	return 0;
}

static int slab_parse(void *state, struct sys_packet *p, struct span text)
{
	struct sys_slab *s = state;
	struct span line;
	size_t i = 0;
	int r = 0;

	if (!number_table_line(&text, &line) ||
	    !number_table_take(&line, "slabinfo - version: 2.") || !number_table_line(&text, &line))
		return -EBADMSG;
	while (number_table_line(&text, &line)) {
		int bad = sys_slabinfo_parse_line(s, p, i, line);

		i += bad == 0;
		r = bad ? bad : r;
	}
	drop_caches_from(s, p, i);
	return text.len > 0 ? -EBADMSG : r;
}

static void poll_slabinfo(struct sys_slab *s, struct sys_packet *p)
{
	s->list_again = p->now + LIST_NS;
	sys_file_poll(&s->base.file, p, &s->base.errors, slab_parse, s);
}

/* ---- the files ---- */

/* Removed caches are detected here; new ones at the next list. */
static void poll_cache(struct sys_slab *s, struct sys_packet *p, struct cache *c)
{
	struct span text;
	uint64_t slabs;
	int r = sys_file_read(&c->slabs, p, &text);

	if (r == 0 && number_table_u64(&text, &slabs)) {
		write_cache(p, (struct span){c->name, strlen(c->name)}, c->pages, slabs);
		c->empty = slabs == 0;
	} else if (r == -ENODEV || r == -EAGAIN) {
		s->list_again = 0;
	} else {
		s->by_file = false;
	}
}

static bool poll_files(struct sys_slab *s, struct sys_packet *p)
{
	unsigned n = 0;

	if (s->next == 0) {
		s->with_empty = p->now >= s->empty_again;
		if (s->with_empty)
			s->empty_again = p->now + EMPTY_NS;
	}
	for (; n < STEP && s->next < s->n && s->by_file; s->next++) {
		struct cache *c = &s->caches[s->next];

		if (c->empty && !s->with_empty)
			continue;
		poll_cache(s, p, c);
		n++;
	}
	if (s->next < s->n && s->by_file)
		return true;
	s->next = 0;
	return false;
}

static bool slab_step(void *state, struct sys_packet *p)
{
	struct sys_slab *s = state;

	if (s->next == 0 && (!s->by_file || s->n == 0 || p->now >= s->list_again)) {
		poll_slabinfo(s, p);
		return false;
	}
	return poll_files(s, p);
}

/* ---- the source ---- */

/* Returns true if caches are not split by memory cgroup. */
static bool has_whole_caches(const char *proc_root)
{
	_cleanup_(strbuf_deinit) struct strbuf release = {0};

	return sys_file_read_once(&release, proc_root, "sys/kernel/osrelease") >= 0 &&
	       str_is_release_from(release.s, 5, 9);
}

static int slab_open(void *state, struct sys_packet *p, const Pb__SysStatsConfig *c)
{
	struct sys_slab *s = state;

	(void)c;
	s->by_file = has_whole_caches(p->proc_root);
	return 0;
}

static void slab_close(void *state, struct sys_packet *p)
{
	struct sys_slab *s = state;

	drop_caches_from(s, p, 0);
	free(s->caches);
}

const struct sys_source sys_slab = {
	.name = "slab",
	.period = offsetof(Pb__SysStatsConfig, slab_period_ms),
	.size = sizeof(struct sys_slab),
	.file = "slabinfo",
	.open = slab_open,
	.step = slab_step,
	.close = slab_close,
};
