/* SPDX-License-Identifier: Apache-2.0 */
/* The table ftrace_event: a row for each kernel event. */
#include "analyze/import/ftrace_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/import/cpus.h"
#include "analyze/store/event_args.h"
#include "base/core/hash_table.h"
#include "base/core/mem.h"
#include "gen/fields.h"

bool event_field(const struct ftrace_event *e, uint32_t number, struct pb_field *ret)
{
	struct pb_dec d = pb_dec_of(&e->message);

	while (pb_dec_next(&d, ret))
		if (ret->id == number)
			return true;
	*ret = (struct pb_field){.id = 0};
	return false;
}

uint32_t event_text(struct import *im, const struct ftrace_event *e, uint32_t number)
{
	struct pb_field f;

	event_field(e, number, &f);
	return import_intern_text(im, &f);
}

uint32_t event_function_name(struct import *im, struct machine *m, const struct ftrace_event *e,
			     uint32_t number)
{
	struct pb_field f;
	uint32_t name;

	event_field(e, number, &f);
	name = event_symbol_name(m, e, f.u64);
	if (name != NULL_U32)
		return name;
	return f.u64 ? strings_intern_f(&im->store->strings, "0x%llx", (unsigned long long)f.u64)
		     : strings_intern_z(&im->store->strings, "0");
}

uint32_t event_symbol_name(struct machine *m, const struct ftrace_event *e, uint64_t iid)
{
	uint32_t name;

	if (e->sequence_state == NULL_U32)
		return NULL_U32;
	name = sequences_string(&m->sequences, e->sequence_state, PB_INTERNED_DATA_KERNEL_SYMBOLS,
				iid);
	/* trace_processor does not look up the function that dropped a network packet. */
	if (name == NULL_U32 && e->number != PB_FTRACE_EVENT_KFREE_SKB)
		stats_add(m->sequences.store, STAT_INTERNED_DATA_TOKENIZER_ERRORS, STAT_NO_INDEX,
			  1);
	return name;
}

struct generic_number {
	uint64_t key; /* machine << 32 | number */
	uint32_t index; /* in store.generic */
	UT_hash_handle hh;
};

static uint64_t generic_key(const struct machine *m, uint32_t number)
{
	return (uint64_t)m->row << 32 | number;
}

uint32_t generic_find(struct import *im, const struct machine *m, uint32_t number)
{
	uint64_t key = generic_key(m, number);
	struct generic_number *n;

	HASH_FIND(hh, im->generic, &key, sizeof(key), n);
	return n ? n->index : NULL_U32;
}

void generic_add(struct import *im, const struct machine *m, uint32_t number,
		 struct generic_event *g)
{
	struct store *s = im->store;
	struct generic_number *n;

	if (s->n_generic >= GENERIC_KINDS_MAX ||
	    !budget_charge(&s->budget, sizeof(*n) + sizeof(*g)))
		goto drop;
	n = malloc(sizeof(*n));
	if (!n || array_reserve(&s->generic, &s->cap_generic, s->n_generic + 1, sizeof(*g))) {
		free(n);
		goto fail;
	}
	n->key = generic_key(m, number);
	n->index = (uint32_t)s->n_generic;
	HASH_ADD(hh, im->generic, key, sizeof(n->key), n);
	if (!n->hh.tbl) {
		free(n);
		goto fail;
	}
	s->generic[s->n_generic++] = *g;
	return;
fail:
	s->budget.error = -ENOMEM;
drop:
	generic_event_deinit(g);
}

/* Makes room in s->further for the descriptions of a machine's known events. If out of memory, sets
 * the budget's error and returns false. */
static bool reserve_further(struct store *s, uint32_t machine)
{
	size_t n = ((size_t)machine + 1) * GENERIC_KINDS;
	uint32_t *more;

	if (s->n_further >= n)
		return true;
	if (!budget_charge(&s->budget, (n - s->n_further) * sizeof(*more)))
		return false;
	more = reallocarray(s->further, n, sizeof(*more));
	if (!more) {
		s->budget.error = -ENOMEM;
		return false;
	}
	memset(more + s->n_further, 0, (n - s->n_further) * sizeof(*more));
	s->further = more;
	s->n_further = n;
	return true;
}

void generic_add_further(struct import *im, const struct machine *m, uint32_t number,
			 struct generic_event *g)
{
	struct store *s = im->store;

	if (number >= GENERIC_KINDS || event_args_find_description(s, m->row, number) ||
	    s->n_generic >= GENERIC_KINDS_MAX || !reserve_further(s, m->row) ||
	    !budget_charge(&s->budget, sizeof(*g))) {
		generic_event_deinit(g);
		return;
	}
	if (array_reserve(&s->generic, &s->cap_generic, s->n_generic + 1, sizeof(*g))) {
		s->budget.error = -ENOMEM;
		generic_event_deinit(g);
		return;
	}
	s->generic[s->n_generic++] = *g;
	s->further[(size_t)m->row * GENERIC_KINDS + number] = (uint32_t)s->n_generic;
}

/* Each name has a key above all numbers. */
uint32_t generic_get_by_own_name(struct import *im, const struct machine *m,
				 const struct pb_field *event)
{
	struct generic_event g = {.self_named = true};
	struct pb_field name = {0};
	uint32_t number;

	pb_read(event, PB_TO(PB_GENERIC_FTRACE_EVENT_EVENT_NAME, &name));
	g.name = strings_intern(&im->store->strings, name.data, name.len);
	number = 0x80000000u | g.name;
	if (generic_find(im, m, number) == NULL_U32)
		generic_add(im, m, number, &g);
	return generic_find(im, m, number);
}

void generic_deinit(struct import *im)
{
	HASH_FREE(im->generic);
}

/* Returns the first byte of the length before a message's bytes. The tag before that ends with a
 * byte below 0x80. */
static const uint8_t *find_length_prefix(const uint8_t *data)
{
	const uint8_t *p = data - 1;

	while (p[-1] & 0x80)
		p--;
	return p;
}

void rows_add_ftrace(struct import *im, struct machine *m, uint32_t cpu, int64_t ts, uint32_t kind,
		     uint32_t utid, enum payload_kind payload, uint64_t value)
{
	struct table *t = import_table(im, TABLE_FTRACE);
	uint32_t row = table_append(t);

	if (payload == PAYLOAD_RAW)
		value = store_find_place(im->store,
					 find_length_prefix((const uint8_t *)(uintptr_t)value));
	table_set_ts(t, FTRACE_TS, row, ts);
	table_set_u32(t, FTRACE_CPU, row, m->row * MAX_CPUS + cpu);
	table_set_u32(t, FTRACE_UTID, row, utid);
	table_set_u16(t, FTRACE_KIND, row, (uint16_t)kind);
	table_set_i64(t, FTRACE_PAYLOAD, row, (int64_t)(value << PAYLOAD_BITS | (uint64_t)payload));
	m->cpus[cpu].seen = true;
	import_extend_bounds(im, ts);
}

/* Stores the arguments of an event if one is a kernel symbol: its name is in the sequence's state,
 * which no query can read. Returns false if no symbol has a name. */
static bool store_args_with_symbols(struct import *im, struct machine *m,
				    const struct ftrace_event *e, const char *symbol_field,
				    uint64_t *ret_set)
{
	bool named = false;
	uint32_t set;

	if (event_args_decode(im->store, e->number,
			      event_args_find_description(im->store, m->row, e->number),
			      e->message.data, e->message.len, &im->list) < 0)
		im->store->budget.error = -ENOMEM;
	for (size_t i = 0; i < im->list.n; i++) {
		const struct arg *a = &im->list.args[i];
		uint32_t key = strings_intern(&im->store->strings, a->key, a->key_len);
		struct stored_arg stored = {
			.key = key, .flat_key = key, .type = a->type, .value = a->i};
		uint32_t symbol = NULL_U32;

		if (a->type == ARG_STRING)
			stored.value = strings_intern(&im->store->strings, a->s, a->len);
		else if (strings_find(&im->store->strings, symbol_field, strlen(symbol_field)) ==
			 key)
			symbol = event_symbol_name(m, e, (uint64_t)a->i);
		if (symbol != NULL_U32) {
			stored.type = ARG_STRING;
			stored.value = symbol;
			named = true;
		}
		arg_builder_add(im->store, &im->args, &stored);
	}
	if (!named) {
		im->args.n = 0;
		return false;
	}
	set = arg_sets_add(im->store, &im->args);
	*ret_set = set == NULL_U32 ? PAYLOAD_NONE : set;
	return true;
}

void rows_add_event(struct import *im, struct machine *m, const struct ftrace_event *e,
		    const char *symbol_field)
{
	uint32_t kind = e->number;
	uint64_t set;

	if (e->generic != NULL_U32)
		kind = GENERIC_KINDS + e->generic;
	if (!e->message.len)
		rows_add_ftrace(im, m, e->cpu, e->ts, kind, e->utid, PAYLOAD_STORED, PAYLOAD_NONE);
	else if (symbol_field && store_args_with_symbols(im, m, e, symbol_field, &set))
		rows_add_ftrace(im, m, e->cpu, e->ts, kind, e->utid, PAYLOAD_STORED, set);
	else
		rows_add_ftrace(im, m, e->cpu, e->ts, kind, e->utid, PAYLOAD_RAW,
				(uintptr_t)e->message.data);
}
