/* SPDX-License-Identifier: Apache-2.0 */
/* Memory: /proc/meminfo, /proc/vmstat, /proc/slabinfo and /proc/buddyinfo. */
#include <ctype.h>
#include <errno.h>
#include <protobuf-c/protobuf-c.h>
#include <stdlib.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/text/number_table.h"
#include "base/text/str.h"
#include "gen/fields.h"
#include "procfs/sys/sys_file.h"
#include "procfs/sys/sys_packet.h"
#include "procfs/sys/sys_source.h"
#include "wire/meminfo_names.h"

/*
 * Parses a file of lines "name value" (/proc/vmstat) or "name: value kB" (/proc/meminfo). Some
 * names have an id in SysStats. The order of lines is stable while the kernel runs: a poll uses
 * what it knows of the line at that position, and searches only if the name differs.
 */

/* Lines above this limit are skipped. */
#define SYS_TABLE_LINES_MAX 4096
#define SYS_TABLE_NUMBERS 256

struct sys_table_line {
	uint32_t name_at; /* in names */
	uint16_t name_len;
	uint16_t number; /* 0: none, or not selected */
	uint32_t extra; /* EXTRA_COUNTER_NONE: none, or not selected */
};

struct sys_table {
	uint32_t field; /* field of SysStats: repeated {key = 1, value = 2} */
	uint32_t (*number_of)(struct span name); /* the id in SysStats; 0: none */
	bool (*is_total)(struct span name); /* true if a counter without an id is monotonic */
	bool all; /* record counters without an id too */
	uint32_t group; /* group of those counters */
	uint64_t wanted[SYS_TABLE_NUMBERS / 64];
	struct strbuf names;
	struct sys_table_line *lines; /* owned */
	size_t n, cap;
};

/* Longer names are not counter names of the kernel. */
#define NAME_MAX_LEN 128

static void select_number(struct sys_table *t, uint32_t number)
{
	t->wanted[number / 64] |= 1ull << number % 64;
}

static bool sys_meminfo_is_selected(const struct sys_table *t, uint32_t number)
{
	return number > 0 && number < SYS_TABLE_NUMBERS &&
	       (t->wanted[number / 64] >> number % 64 & 1);
}

/* Selects the listed ids that are defined, or all ids if none is listed. Logs unknown ids. file:
 * name of the table, for messages and for the group. */
static void sys_table_select(struct sys_table *t, struct sys_packet *p, const char *file,
			     const ProtobufCEnumDescriptor *numbers, const int *listed, size_t n)
{
	struct unknown_ids unknown = {0};

	t->all = n == 0;
	t->group = TRACK_VOID;
	if (t->all) {
		memset(t->wanted, 0xff, sizeof(t->wanted));
		t->group = extra_counters_add_group(&p->extras, file);
	}
	for (size_t i = 0; i < n; i++) {
		if (listed[i] > 0 && listed[i] < SYS_TABLE_NUMBERS &&
		    protobuf_c_enum_descriptor_get_value(numbers, listed[i]))
			select_number(t, (uint32_t)listed[i]);
		else
			sys_packet_log_unknown_id(&unknown, file, listed[i]);
	}
}

static void sys_table_deinit(struct sys_table *t)
{
	strbuf_deinit(&t->names);
	free(t->lines);
	t->lines = NULL;
}

/* ---- the counter of each line ---- */

/* Returns the length of the known name of line i, or 0 if the line has another name. */
static size_t known_name_length(const struct sys_table *t, size_t i, struct span line)
{
	const struct sys_table_line *l;
	char next;

	if (i >= t->n)
		return 0;
	l = &t->lines[i];
	if (line.len <= l->name_len || memcmp(line.p, t->names.s + l->name_at, l->name_len) != 0)
		return 0;
	next = line.p[l->name_len];
	return next == ' ' || next == ':' ? l->name_len + 1u : 0;
}

static struct span sys_meminfo_cut_name(struct span line)
{
	size_t n = 0;

	while (n < line.len && line.p[n] != ':' && line.p[n] != ' ')
		n++;
	return (struct span){line.p, n};
}

static uint32_t add_extra_counter(const struct sys_table *t, struct sys_packet *p, struct span line,
				  struct span name)
{
	const struct track_spec kind = {
		.unit = span_ends(line, " kB") ? TRACK_UNIT_BYTES : TRACK_UNIT_COUNT,
		.total = t->is_total(name),
	};

	return extra_counters_find_or_add(&p->extras, t->group, name, &kind);
}

/* Stores the name of line i and forgets all lines after it, which are new or have moved. Returns 0,
 * -EBADMSG or -ENOMEM. */
static int add_table_line(struct sys_table *t, struct sys_packet *p, size_t i, struct span line)
{
	struct span name = sys_meminfo_cut_name(line);
	struct sys_table_line l = {.name_len = (uint16_t)name.len, .extra = EXTRA_COUNTER_NONE};
	uint32_t number;

	if (name.len == 0 || name.len == line.len || name.len > NAME_MAX_LEN)
		return -EBADMSG;
	if (i < t->n) {
		t->n = i;
		t->names.len = t->lines[i].name_at;
	}
	if (array_reserve(&t->lines, &t->cap, i + 1, sizeof(*t->lines)) < 0)
		return -ENOMEM;
	number = t->number_of(name);
	l.name_at = (uint32_t)t->names.len;
	strbuf_add(&t->names, name.p, name.len);
	if (t->names.failed)
		return -ENOMEM;
	if (sys_meminfo_is_selected(t, number))
		l.number = (uint16_t)number;
	else if (number == 0 && t->all)
		l.extra = add_extra_counter(t, p, line, name);
	t->lines[t->n++] = l;
	return 0;
}

/* ---- a poll ---- */

static void sys_meminfo_write_value(const struct sys_table_line *l, struct sys_table *t,
				    struct sys_packet *p, uint64_t v, struct span rest)
{
	if (l->number)
		sys_put_pair(sys_packet_open(p), t->field, l->number, v);
	else if (l->extra != EXTRA_COUNTER_NONE)
		extra_counters_set(&p->extras, l->extra,
				   sys_clamp_i64(span_is(rest, " kB") ? v * 1024 : v));
}

static int sys_meminfo_parse_line(struct sys_table *t, struct sys_packet *p, size_t i,
				  struct span line)
{
	size_t skip = known_name_length(t, i, line);
	struct span rest;
	uint64_t v;
	int r;

	if (skip == 0) {
		r = add_table_line(t, p, i, line);
		if (r < 0)
			return r;
		skip = t->lines[i].name_len + 1u;
	}
	rest = (struct span){line.p + skip, line.len - skip};
	if (!number_table_u64(&rest, &v))
		return -EBADMSG;
	sys_meminfo_write_value(&t->lines[i], t, p, v, rest);
	return 0;
}

/* Returns 0; -EBADMSG if there are lines without a name and a value, or no line; or -ENOMEM. */
static int sys_table_parse(struct sys_table *t, struct sys_packet *p, struct span text)
{
	struct span line;
	size_t i = 0;
	int r = 0;

	/* A text without a final newline was truncated, and so may be its last number. */
	while (i < SYS_TABLE_LINES_MAX && number_table_line(&text, &line)) {
		int bad = sys_meminfo_parse_line(t, p, i, line);

		/* A line that cannot be stored keeps no position. */
		i += i < t->n;
		r = bad ? bad : r;
	}
	return i == 0 || text.len > 0 ? -EBADMSG : r;
}

/* /proc/meminfo, in kB, and /proc/vmstat: tables of names and numbers. */

struct sys_memory {
	struct sys_state base;
	struct sys_table table;
};

static uint32_t find_meminfo_number(struct span name)
{
	for (uint32_t i = 1; i < ARRAY_SIZE(meminfo_names); i++)
		if (span_is(name, meminfo_names[i]))
			return i;
	return 0;
}

/* The name of an id is "VMSTAT_" and the kernel's name in upper case (enum VmstatCounters). */
static uint32_t find_vmstat_number(struct span name)
{
	char key[64] = "VMSTAT_";
	const size_t at = strlen(key);
	const ProtobufCEnumValue *v;

	if (name.len >= sizeof(key) - at)
		return 0;
	for (size_t i = 0; i < name.len; i++)
		key[at + i] = (char)toupper((unsigned char)name.p[i]);
	v = protobuf_c_enum_descriptor_get_value_by_name(&pb__vmstat_counters__descriptor, key);
	return v ? (uint32_t)v->value : 0;
}

static bool always_false(struct span name)
{
	return false;
}

/* Gauges begin with nr_; all others count events. */
static bool is_event_counter(struct span name)
{
	return !(name.len >= 3 && memcmp(name.p, "nr_", 3) == 0);
}

static int meminfo_open(void *state, struct sys_packet *p, const Pb__SysStatsConfig *c)
{
	struct sys_memory *s = state;

	s->table.field = PB_SYS_STATS_MEMINFO;
	s->table.number_of = find_meminfo_number;
	s->table.is_total = always_false;
	sys_table_select(&s->table, p, "meminfo", &pb__meminfo_counters__descriptor,
			 (const int *)c->meminfo_counters, c->n_meminfo_counters);
	return 0;
}

static int vmstat_open(void *state, struct sys_packet *p, const Pb__SysStatsConfig *c)
{
	struct sys_memory *s = state;

	s->table.field = PB_SYS_STATS_VMSTAT;
	s->table.number_of = find_vmstat_number;
	s->table.is_total = is_event_counter;
	sys_table_select(&s->table, p, "vmstat", &pb__vmstat_counters__descriptor,
			 (const int *)c->vmstat_counters, c->n_vmstat_counters);
	return 0;
}

static int memory_parse(void *state, struct sys_packet *p, struct span text)
{
	struct sys_memory *s = state;

	return sys_table_parse(&s->table, p, text);
}

static void memory_close(void *state, struct sys_packet *p)
{
	struct sys_memory *s = state;

	sys_table_deinit(&s->table);
}

const struct sys_source sys_meminfo = {
	.name = "meminfo",
	.period = offsetof(Pb__SysStatsConfig, meminfo_period_ms),
	.size = sizeof(struct sys_memory),
	.file = "meminfo",
	.whole = true,
	.parse = memory_parse,
	.open = meminfo_open,
	.close = memory_close,
};

const struct sys_source sys_vmstat = {
	.name = "vmstat",
	.period = offsetof(Pb__SysStatsConfig, vmstat_period_ms),
	.size = sizeof(struct sys_memory),
	.file = "vmstat",
	.parse = memory_parse,
	.open = vmstat_open,
	.close = memory_close,
};

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
	uint32_t pages; /* pages of a slab */
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

static void write_slab_cache(struct sys_packet *p, struct span name, uint64_t pages, uint64_t slabs)
{
	struct pb_enc *e = sys_packet_open(p);

	pb_enc_open(e, PB_SYS_STATS_SLAB_INFO);
	pb_enc_bytes(e, PB_SYS_STATS_SLAB_INFO_NAME, name.p, name.len);
	pb_enc_u64(e, PB_SYS_STATS_SLAB_INFO_PAGES_PER_SLAB, sys_clamp_u32(pages));
	pb_enc_u64(e, PB_SYS_STATS_SLAB_INFO_NUM_SLABS, sys_clamp_u32(slabs));
	pb_enc_close(e);
}

/* ---- the list of caches ---- */

static void drop_slab_caches_from(struct sys_slab *s, struct sys_packet *p, size_t from)
{
	for (size_t i = from; i < s->n; i++) {
		free(s->caches[i].name);
		sys_file_deinit(&s->caches[i].slabs, p);
	}
	s->n = MIN(s->n, from);
}

/* Stores the cache at index i. If another one is there, replaces it and drops all after it. Returns
 * 0 or -errno. */
static int set_slab_cache(struct sys_slab *s, struct sys_packet *p, size_t i, struct span name,
			  uint64_t pages)
{
	struct cache *c;

	if (i < s->n && span_is(name, s->caches[i].name))
		return 0;
	drop_slab_caches_from(s, p, i);
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
	write_slab_cache(p, name, pages, slabs);
	if (!s->by_file)
		return 0;
	if (set_slab_cache(s, p, i, name, pages) == 0)
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
	    !number_table_cut_prefix(&line, "slabinfo - version: 2.") ||
	    !number_table_line(&text, &line))
		return -EBADMSG;
	while (number_table_line(&text, &line)) {
		int bad = sys_slabinfo_parse_line(s, p, i, line);

		i += bad == 0;
		r = bad ? bad : r;
	}
	drop_slab_caches_from(s, p, i);
	return text.len > 0 ? -EBADMSG : r;
}

static void poll_slabinfo(struct sys_slab *s, struct sys_packet *p)
{
	s->list_again = p->now + LIST_NS;
	sys_file_poll(&s->base.file, p, &s->base.errors, slab_parse, s);
}

/* ---- the files ---- */

/* Reads and writes the slabs of a cache. If the cache was removed, the caches are listed again in
 * the next poll, which also finds new ones. After another error the files are no longer used. */
static void poll_slab_cache(struct sys_slab *s, struct sys_packet *p, struct cache *c)
{
	struct span text;
	uint64_t slabs;
	int r = sys_file_read(&c->slabs, p, &text);

	if (r == 0 && number_table_u64(&text, &slabs)) {
		write_slab_cache(p, (struct span){c->name, strlen(c->name)}, c->pages, slabs);
		c->empty = slabs == 0;
	} else if (r == -ENODEV || r == -EAGAIN) {
		s->list_again = 0;
	} else {
		s->by_file = false;
	}
}

/* Reads the files of up to STEP caches. Returns true while there are more in this pass. */
static bool poll_slab_files(struct sys_slab *s, struct sys_packet *p)
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
		poll_slab_cache(s, p, c);
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
	return poll_slab_files(s, p);
}

/* ---- the source ---- */

/* Returns true if caches are not split by memory cgroup. */
static bool has_whole_slab_caches(const char *proc_root)
{
	_cleanup_(strbuf_deinit) struct strbuf release = {0};

	return sys_file_read_once(&release, proc_root, "sys/kernel/osrelease") >= 0 &&
	       str_is_release_from(release.s, 5, 9);
}

static int slab_open(void *state, struct sys_packet *p, const Pb__SysStatsConfig *c)
{
	struct sys_slab *s = state;

	s->by_file = has_whole_slab_caches(p->proc_root);
	return 0;
}

static void slab_close(void *state, struct sys_packet *p)
{
	struct sys_slab *s = state;

	drop_slab_caches_from(s, p, 0);
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

/* /proc/buddyinfo has a line for each zone of each NUMA node. All lines are recorded. */

/* Parses "Node 0, zone   Normal   1 2 3": the number of free blocks of each order. The
 * configuration of the kernel sets how many orders there are. */
static int parse_zone(struct sys_packet *p, struct span line)
{
	struct span node, zone;
	struct pb_enc *e;
	uint64_t v;

	if (!number_table_cut_prefix(&line, "Node ") || !span_next_word(&line, &node) ||
	    node.len < 2 || node.p[node.len - 1] != ',' || !number_table_skip(&line, 1) ||
	    !span_next_word(&line, &zone))
		return -EBADMSG;
	e = sys_packet_open(p);
	pb_enc_open(e, PB_SYS_STATS_BUDDY_INFO);
	pb_enc_bytes(e, PB_SYS_STATS_BUDDY_INFO_NODE, node.p, node.len - 1);
	pb_enc_bytes(e, PB_SYS_STATS_BUDDY_INFO_ZONE, zone.p, zone.len);
	while (number_table_u64(&line, &v))
		pb_enc_u64(e, PB_SYS_STATS_BUDDY_INFO_ORDER_PAGES, sys_clamp_u32(v));
	pb_enc_close(e);
	return span_trim(line).len == 0 ? 0 : -EBADMSG;
}

static int buddyinfo_parse(void *state, struct sys_packet *p, struct span text)
{
	struct span line;
	int r = 0;

	while (number_table_line(&text, &line)) {
		int bad = parse_zone(p, line);

		r = bad ? bad : r;
	}
	return text.len > 0 ? -EBADMSG : r;
}

const struct sys_source sys_buddyinfo = {
	.name = "buddyinfo",
	.period = offsetof(Pb__SysStatsConfig, buddyinfo_period_ms),
	.size = sizeof(struct sys_state),
	.file = "buddyinfo",
	.parse = buddyinfo_parse,
};
