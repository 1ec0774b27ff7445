/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file has "key: value" lines. Counters are 64 bits wide, as in the kernel:
 *
 *	entries: 73968
 *	oldest event ts:  3114.613493
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/number_read.h"
#include "ftrace/ring/ring_stats.h"

/* Stores the value of a line. Returns 1, or 0 if the key is unknown. */
static int ring_stats_parse_line(const char *key, size_t key_len, const char *value,
				 struct ring_stats *s)
{
	const struct {
		const char *key;
		uint64_t *count;
		double *seconds;
	} lines[] = {
		{"entries", &s->entries, NULL},
		{"overrun", &s->overrun, NULL},
		{"commit overrun", &s->commit_overrun, NULL},
		{"bytes", &s->bytes, NULL},
		{"dropped events", &s->dropped_events, NULL},
		{"read events", &s->read_events, NULL},
		{"oldest event ts", NULL, &s->oldest_event_ts},
		{"now ts", NULL, &s->now_ts},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(lines); i++) {
		if (strlen(lines[i].key) != key_len || strncmp(key, lines[i].key, key_len))
			continue;
		if (lines[i].count)
			*lines[i].count = str_leading_u64(value, 10);
		else
			*lines[i].seconds = str_leading_double(value);
		return 1;
	}
	return 0;
}

int ring_stats_parse(const char *text, struct ring_stats *ret)
{
	struct ring_stats s = {.cpu = ret->cpu};
	const char *line, *eol, *colon;
	int known = 0;

	for (line = text; *line; line = *eol ? eol + 1 : eol) {
		eol = strchrnul(line, '\n');
		colon = memchr(line, ':', (size_t)(eol - line));
		if (colon)
			known += ring_stats_parse_line(line, (size_t)(colon - line), colon + 1, &s);
	}
	if (!known)
		return -EINVAL;
	*ret = s;
	return 0;
}

static void add_counters(struct ring_stats *s, const struct ring_stats *more)
{
	s->entries += more->entries;
	s->overrun += more->overrun;
	s->commit_overrun += more->commit_overrun;
	s->bytes += more->bytes;
	s->dropped_events += more->dropped_events;
	s->read_events += more->read_events;
}

void ring_stats_add(struct ring_stats_all *all, const struct ring_stats_all *more)
{
	for (size_t i = 0; i < all->n; i++)
		for (size_t k = 0; k < more->n; k++)
			if (more->rings[k].cpu == all->rings[i].cpu)
				add_counters(&all->rings[i], &more->rings[k]);
}

void ring_stats_deinit(struct ring_stats_all *all)
{
	free(all->rings);
	*all = (struct ring_stats_all){0};
}
