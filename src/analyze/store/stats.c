/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/store/stats.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "base/core/hash_table.h"

enum severity { INFO, LOSS, ERROR };
enum source { TRACE, ANALYSIS };

struct stat_def {
	const char *name; /* in upper case */
	enum severity severity;
	enum source source;
	bool indexed;
	const char *description;
};

static const struct stat_def defs[STATS] = {
#define STAT(identifier, severity, source, indexed, description)                                   \
	{#identifier, severity, source, indexed, description},
#include "analyze/store/stats.def"
#undef STAT
};

struct stat_key {
	uint64_t stat;
	int64_t index;
};

struct stat_count {
	struct stat_key key;
	int64_t value;
	UT_hash_handle hh;
};

void stats_deinit(struct store *s)
{
	HASH_FREE(s->stats);
}

static struct stat_count *stats_find(const struct store *s, enum stat_number stat, int64_t index)
{
	struct stat_key key = {.stat = stat, .index = index};
	struct stat_count *c;

	HASH_FIND(hh, s->stats, &key, sizeof(key), c);
	return c;
}

static struct stat_count *stats_make(struct store *s, enum stat_number stat, int64_t index)
{
	struct stat_count *c = stats_find(s, stat, index);

	if (c || !budget_charge(&s->budget, sizeof(*c)))
		return c;
	c = calloc(1, sizeof(*c));
	if (!c) {
		s->budget.error = -ENOMEM;
		return NULL;
	}
	c->key = (struct stat_key){.stat = stat, .index = index};
	HASH_ADD(hh, s->stats, key, sizeof(c->key), c);
	if (c->hh.tbl)
		return c;
	free(c);
	s->budget.error = -ENOMEM;
	return NULL;
}

void stats_add(struct store *s, enum stat_number stat, int64_t index, int64_t n)
{
	struct stat_count *c = stats_make(s, stat, index);

	if (c)
		c->value = (int64_t)((uint64_t)c->value + (uint64_t)n);
}

void stats_set(struct store *s, enum stat_number stat, int64_t index, int64_t value)
{
	struct stat_count *c = stats_make(s, stat, index);

	if (c)
		c->value = value;
}

int64_t stats_get(const struct store *s, enum stat_number stat, int64_t index)
{
	const struct stat_count *c = stats_find(s, stat, index);

	return c ? c->value : 0;
}

static void stats_add_row(struct store *s, enum stat_number stat, int64_t index, int64_t value)
{
	static const char *const severities[] = {"info", "data_loss", "error"};
	static const char *const sources[] = {"trace", "analysis"};
	const struct stat_def *d = &defs[stat];
	struct table *t = &s->tables[TABLE_STATS];
	uint32_t row = table_append(t);
	struct strbuf name = {0};

	for (const char *c = d->name; *c; c++)
		strbuf_putc(&name, (char)tolower((unsigned char)*c));
	table_set_u32(t, STATS_NAME, row, strings_intern_buf(&s->strings, &name));
	strbuf_deinit(&name);
	table_set_i64(t, STATS_IDX, row, index); /* STAT_NO_INDEX is NULL_I64 */
	table_set_u32(t, STATS_SEVERITY, row,
		      strings_intern_z(&s->strings, severities[d->severity]));
	table_set_u32(t, STATS_SOURCE, row, strings_intern_z(&s->strings, sources[d->source]));
	table_set_i64(t, STATS_VALUE, row, value);
	table_set_u32(t, STATS_DESCRIPTION, row, strings_intern_z(&s->strings, d->description));
	table_set_u32(t, STATS_KEY, row, stat);
}

static int compare_stat_and_index(const struct stat_count *a, const struct stat_count *b)
{
	if (a->key.stat != b->key.stat)
		return a->key.stat < b->key.stat ? -1 : 1;
	return a->key.index < b->key.index ? -1 : a->key.index > b->key.index;
}

void stats_fill_table(struct store *s)
{
	const struct stat_count *c;

	HASH_SORT(s->stats, compare_stat_and_index);
	c = s->stats;
	for (unsigned i = 0; i < STATS; i++) {
		if (!defs[i].indexed && (!c || c->key.stat != i))
			stats_add_row(s, i, STAT_NO_INDEX, 0);
		for (; c && c->key.stat == i; c = c->hh.next)
			stats_add_row(s, i, c->key.index, c->value);
	}
}
