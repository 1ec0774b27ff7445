/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <protobuf-c/protobuf-c.h>
#include <stdlib.h>

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
	uint16_t number; /* 0: none, or not wanted */
	uint32_t extra; /* EXTRA_COUNTER_NONE: none, or not wanted */
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

static void add_wanted(struct sys_table *t, uint32_t number)
{
	t->wanted[number / 64] |= 1ull << number % 64;
}

static bool sys_meminfo_is_wanted(const struct sys_table *t, uint32_t number)
{
	return number > 0 && number < SYS_TABLE_NUMBERS &&
	       (t->wanted[number / 64] >> number % 64 & 1);
}

/*
 * Selects ids: those that are listed and defined; none listed: all. Logs unknown ids. file: name of
 * the table, for messages and for the group.
 */
static void sys_table_choose(struct sys_table *t, struct sys_packet *p, const char *file,
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
			add_wanted(t, (uint32_t)listed[i]);
		else
			unknown_ids_log(&unknown, file, listed[i]);
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
static size_t known_name(const struct sys_table *t, size_t i, struct span line)
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

/*
 * Stores the name of line i: this line and all after it are new or have moved. Returns 0, -EBADMSG
 * or -ENOMEM.
 */
static int learn_line(struct sys_table *t, struct sys_packet *p, size_t i, struct span line)
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
	if (sys_meminfo_is_wanted(t, number))
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
	size_t skip = known_name(t, i, line);
	struct span rest;
	uint64_t v;
	int r;

	if (skip == 0) {
		r = learn_line(t, p, i, line);
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

static uint32_t meminfo_number(struct span name)
{
	for (uint32_t i = 1; i < ARRAY_SIZE(meminfo_names); i++)
		if (span_is(name, meminfo_names[i]))
			return i;
	return 0;
}

/* The name of an id is "VMSTAT_" and the kernel's name in upper case (enum VmstatCounters). */
static uint32_t vmstat_number(struct span name)
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

static bool is_never_total(struct span name)
{
	(void)name;
	return false;
}

/* Gauges begin with nr_; all others count events. */
static bool is_event(struct span name)
{
	return !(name.len >= 3 && memcmp(name.p, "nr_", 3) == 0);
}

static int meminfo_open(void *state, struct sys_packet *p, const Pb__SysStatsConfig *c)
{
	struct sys_memory *s = state;

	s->table.field = PB_SYS_STATS_MEMINFO;
	s->table.number_of = meminfo_number;
	s->table.is_total = is_never_total;
	sys_table_choose(&s->table, p, "meminfo", &pb__meminfo_counters__descriptor,
			 (const int *)c->meminfo_counters, c->n_meminfo_counters);
	return 0;
}

static int vmstat_open(void *state, struct sys_packet *p, const Pb__SysStatsConfig *c)
{
	struct sys_memory *s = state;

	s->table.field = PB_SYS_STATS_VMSTAT;
	s->table.number_of = vmstat_number;
	s->table.is_total = is_event;
	sys_table_choose(&s->table, p, "vmstat", &pb__vmstat_counters__descriptor,
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

	(void)p;
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
