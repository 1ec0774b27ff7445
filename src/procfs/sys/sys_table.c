/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/sys/sys_table.h"

#include <errno.h>
#include <stdlib.h>

#include "base/core/mem.h"
#include "gen/fields.h"
#include "base/text/sys_text.h"
#include "procfs/sys/sys_source.h"

/* Longer ones are not what the kernel calls a counter. */
#define NAME_MAX_LEN 128

static void want(struct sys_table *t, uint32_t number)
{
	t->wanted[number / 64] |= 1ull << number % 64;
}

static bool is_wanted(const struct sys_table *t, uint32_t number)
{
	return number > 0 && number < SYS_TABLE_NUMBERS &&
	       (t->wanted[number / 64] >> number % 64 & 1);
}

void sys_table_choose(struct sys_table *t, struct sys_poll *p, const char *file,
		      const ProtobufCEnumDescriptor *numbers, const int *listed, size_t n)
{
	struct sys_unknown unknown = {0};

	t->all = n == 0;
	t->group = TRACK_VOID;
	if (t->all) {
		memset(t->wanted, 0xff, sizeof(t->wanted));
		t->group = sys_extras_group(&p->extras, file);
	}
	for (size_t i = 0; i < n; i++) {
		if (listed[i] > 0 && listed[i] < SYS_TABLE_NUMBERS &&
		    protobuf_c_enum_descriptor_get_value(numbers, listed[i]))
			want(t, (uint32_t)listed[i]);
		else
			sys_unknown_tell(&unknown, file, listed[i]);
	}
}

void sys_table_deinit(struct sys_table *t)
{
	strbuf_deinit(&t->names);
	free(t->lines);
	t->lines = NULL;
}

/* ---- which line is which counter ---- */

/* What follows the name at the i-th line as it is known; 0: it is another line. */
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

static struct span name_of(struct span line)
{
	size_t n = 0;

	while (n < line.len && line.p[n] != ':' && line.p[n] != ' ')
		n++;
	return (struct span){line.p, n};
}

static uint32_t make_extra(const struct sys_table *t, struct sys_poll *p, struct span line,
			   struct span name)
{
	const struct track_spec kind = {
		.unit = span_ends(line, " kB") ? TRACK_UNIT_BYTES : TRACK_UNIT_COUNT,
		.total = t->is_total(name),
	};

	return sys_extras_counter(&p->extras, t->group, name, &kind);
}

/* The line and those behind it are not what they were, or are new. */
static int learn(struct sys_table *t, struct sys_poll *p, size_t i, struct span line)
{
	struct span name = name_of(line);
	struct sys_table_line l = {.name_len = (uint16_t)name.len, .extra = SYS_EXTRA_NONE};
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
	if (is_wanted(t, number))
		l.number = (uint16_t)number;
	else if (number == 0 && t->all)
		l.extra = make_extra(t, p, line, name);
	t->lines[t->n++] = l;
	return 0;
}

/* ---- a poll ---- */

static void note(const struct sys_table_line *l, struct sys_table *t, struct sys_poll *p,
		 uint64_t v, struct span rest)
{
	if (l->number)
		sys_value_pair(sys_poll_packet(p), t->field, l->number, v);
	else if (l->extra != SYS_EXTRA_NONE)
		sys_extras_set(&p->extras, l->extra,
			       sys_value_signed(span_is(rest, " kB") ? v * 1024 : v));
}

static int parse_line(struct sys_table *t, struct sys_poll *p, size_t i, struct span line)
{
	size_t skip = known_name(t, i, line);
	struct span rest;
	uint64_t v;
	int r;

	if (skip == 0) {
		r = learn(t, p, i, line);
		if (r < 0)
			return r;
		skip = t->lines[i].name_len + 1u;
	}
	rest = (struct span){line.p + skip, line.len - skip};
	if (!number_table_u64(&rest, &v))
		return -EBADMSG;
	note(&t->lines[i], t, p, v, rest);
	return 0;
}

int sys_table_parse(struct sys_table *t, struct sys_poll *p, struct span text)
{
	struct span line;
	size_t i = 0;
	int r = 0;

	/* A text that does not end with its line was cut off, and so may be the line's number. */
	while (i < SYS_TABLE_LINES_MAX && number_table_line(&text, &line)) {
		int bad = parse_line(t, p, i, line);

		/* A line that cannot be learnt has no place of its own. */
		i += i < t->n;
		r = bad ? bad : r;
	}
	return i == 0 || text.len > 0 ? -EBADMSG : r;
}
