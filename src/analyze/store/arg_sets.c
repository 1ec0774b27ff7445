/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/store/arg_sets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/store/event_args.h"
#include "base/core/mem.h"
#include "base/core/siphash.h"

#define FIRST_SLOTS 1024u

void arg_builder_add(struct store *s, struct arg_builder *b, const struct stored_arg *a)
{
	for (size_t i = 0; i < b->n; i++)
		if (b->args[i].key == a->key) {
			b->args[i] = *a;
			return;
		}
	if (b->n >= ARG_SET_MAX)
		return;
	if (array_reserve(&b->args, &b->cap, b->n + 1, sizeof(*b->args))) {
		s->budget.error = -ENOMEM;
		return;
	}
	b->args[b->n++] = *a;
}

void arg_builder_add_int(struct store *s, struct arg_builder *b, const char *key,
			 enum arg_type type, int64_t v)
{
	uint32_t id = strings_intern_z(&s->strings, key);

	arg_builder_add(s, b,
			&(struct stored_arg){.key = id, .flat_key = id, .type = type, .value = v});
}

static uint32_t arg_sets_hash_of(const struct arg_builder *b)
{
	struct siphash_part {
		uint32_t key, type;
		int64_t value;
	} parts[64];
	uint32_t hash = (uint32_t)b->n;

	for (size_t i = 0; i < b->n;) {
		size_t n = MIN(b->n - i, ARRAY_SIZE(parts));

		for (size_t j = 0; j < n; j++, i++)
			parts[j] = (struct siphash_part){b->args[i].key, b->args[i].type,
							 b->args[i].value};
		hash = hash * 31 + (uint32_t)siphash_keyed(parts, n * sizeof(*parts));
	}
	return hash;
}

static bool is_equal_set(const struct table *t, uint32_t first, const struct arg_builder *b)
{
	for (size_t i = 0; i < b->n; i++) {
		uint32_t row = first + (uint32_t)i;

		if (row >= t->rows || table_u32(t, ARGS_SET, row) != first ||
		    table_u32(t, ARGS_KEY, row) != b->args[i].key ||
		    table_u8(t, ARGS_TYPE, row) != b->args[i].type ||
		    table_i64(t, ARGS_VALUE, row) != b->args[i].value)
			return false;
	}
	return first + b->n >= t->rows || table_u32(t, ARGS_SET, first + (uint32_t)b->n) != first;
}

/* Computes the hash of a stored set again, for larger slots. */
static uint32_t hash_stored_set(const struct table *t, uint32_t first)
{
	struct stored_arg some[32];
	struct arg_builder b = {.args = some};
	_cleanup_(freep) struct stored_arg *many = NULL;
	uint32_t n = 0, hash;

	while (first + n < t->rows && table_u32(t, ARGS_SET, first + n) == first)
		n++;
	if (n > ARRAY_SIZE(some)) {
		b.args = many = malloc(n * sizeof(*many));
		if (!many)
			return 0; /* an equal set will not find this one, which only costs memory */
	}
	for (; b.n < n; b.n++)
		b.args[b.n] = (struct stored_arg){
			.key = table_u32(t, ARGS_KEY, first + (uint32_t)b.n),
			.type = table_u8(t, ARGS_TYPE, first + (uint32_t)b.n),
			.value = table_i64(t, ARGS_VALUE, first + (uint32_t)b.n)};
	hash = arg_sets_hash_of(&b);
	return hash;
}

static bool grow_slots(struct store *s)
{
	uint32_t n = s->n_arg_slots ? s->n_arg_slots * 2 : FIRST_SLOTS;
	const struct table *t = &s->tables[TABLE_ARGS];
	uint32_t *slots;

	if (!n || !budget_charge(&s->budget, n * sizeof(*slots)))
		return false;
	slots = calloc(n, sizeof(*slots));
	if (!slots) {
		s->budget.error = -ENOMEM;
		return false;
	}
	for (uint32_t i = 0; i < s->n_arg_slots; i++) {
		uint32_t at;

		if (!s->arg_slots[i])
			continue;
		at = hash_stored_set(t, s->arg_slots[i] - 1) & (n - 1);
		while (slots[at])
			at = (at + 1) & (n - 1);
		slots[at] = s->arg_slots[i];
	}
	s->budget.used -= s->n_arg_slots * sizeof(*slots);
	free(s->arg_slots);
	s->arg_slots = slots;
	s->n_arg_slots = n;
	return true;
}

static uint32_t append_arg_set(struct table *t, const struct arg_builder *b)
{
	uint32_t first = t->rows;

	for (size_t i = 0; i < b->n; i++) {
		uint32_t row = table_append(t);

		table_set_u32(t, ARGS_SET, row, first);
		table_set_u32(t, ARGS_KEY, row, b->args[i].key);
		table_set_u32(t, ARGS_FLAT_KEY, row, b->args[i].flat_key);
		table_set_u8(t, ARGS_TYPE, row, (uint8_t)b->args[i].type);
		table_set_i64(t, ARGS_VALUE, row, b->args[i].value);
	}
	return first;
}

uint32_t arg_sets_add(struct store *s, struct arg_builder *b)
{
	struct table *t = &s->tables[TABLE_ARGS];
	uint32_t at, set;

	if (!b->n || b->n > CALL_SETS - MIN(t->rows, CALL_SETS) ||
	    ((s->n_arg_sets + 1) * 2 > s->n_arg_slots && !grow_slots(s))) {
		b->n = 0;
		return NULL_U32;
	}
	at = arg_sets_hash_of(b) & (s->n_arg_slots - 1);
	while (s->arg_slots[at] && !is_equal_set(t, s->arg_slots[at] - 1, b))
		at = (at + 1) & (s->n_arg_slots - 1);
	if (!s->arg_slots[at]) {
		s->arg_slots[at] = append_arg_set(t, b) + 1;
		s->n_arg_sets++;
	}
	set = s->arg_slots[at] - 1;
	b->n = 0;
	return set;
}

static void read_stored_arg(const struct store *s, const struct table *t, uint32_t row,
			    struct arg *ret)
{
	uint32_t key = table_u32(t, ARGS_KEY, row), flat = table_u32(t, ARGS_FLAT_KEY, row);
	int64_t v = table_i64(t, ARGS_VALUE, row);

	*ret = (struct arg){.key = s->strings.of[key].s,
			    .key_len = s->strings.of[key].len,
			    .flat_key = s->strings.of[flat].s,
			    .flat_key_len = s->strings.of[flat].len,
			    .type = table_u8(t, ARGS_TYPE, row),
			    .i = v};
	if (ret->type == ARG_REAL) {
		memcpy(&ret->real, &v, sizeof(ret->real));
	} else if ((ret->type == ARG_STRING || ret->type == ARG_JSON) &&
		   (uint64_t)v < s->strings.n) {
		ret->s = s->strings.of[v].s;
		ret->len = s->strings.of[v].len;
	}
}

int arg_sets_list(const struct store *s, int64_t set, struct arg_list *ret)
{
	const struct table *t = &s->tables[TABLE_ARGS];

	ret->n = 0;
	if (set >= FTRACE_ARGS_BASE)
		return event_args_list(s, set, ret);
	if (call_args_is_set(set))
		return call_args_list(s, set, ret);
	if (set < 0 || set >= t->rows)
		return 0;
	for (uint32_t row = (uint32_t)set; row < t->rows && table_u32(t, ARGS_SET, row) == set;
	     row++) {
		int r = array_reserve(&ret->args, &ret->cap, ret->n + 1, sizeof(*ret->args));

		if (r < 0)
			return r;
		read_stored_arg(s, t, row, &ret->args[ret->n++]);
	}
	return 0;
}

const char *arg_type_name(enum arg_type type)
{
	static const char *const names[] = {
		[ARG_NULL] = "null",	 [ARG_INT] = "int",   [ARG_UINT] = "uint",
		[ARG_STRING] = "string", [ARG_REAL] = "real", [ARG_POINTER] = "pointer",
		[ARG_BOOL] = "bool",	 [ARG_JSON] = "json",
	};

	return names[type];
}
