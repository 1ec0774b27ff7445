/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a row of ftrace_event from each kernel event, and the further rows that the event's rule
 * makes. The tables of rules (event_rules.h) have one row for each kind of event.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/import/cpus.h"
#include "analyze/import/event_rules.h"
#include "analyze/import/import_steps.h"
#include "analyze/import/slice_rules.h"
#include "analyze/store/event_args.h"
#include "base/core/hash_table.h"
#include "base/core/mem.h"
#include "gen/fields.h"

/* ---- events that the trace describes ---- */

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

	if (s->n_generic >= GENERIC_KINDS_MAX || !budget_take(&s->budget, sizeof(*n) + sizeof(*g)))
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
	free(g->fields);
}

void generic_deinit(struct import *im)
{
	struct generic_number *n, *next;

	HASH_ITER (hh, im->generic, n, next) {
		HASH_DEL(im->generic, n);
		free(n);
	}
}

/* GenericFtraceEvent: events whose messages have their names share one number. Each name has a key
 * above all numbers. Returns the index in store.generic, or NULL_U32 without memory. */
static uint32_t self_named(struct import *im, const struct machine *m, const struct pb_field *event)
{
	struct generic_event g = {.self_named = true};
	struct pb_field f;
	struct pb_dec d;
	uint32_t number;

	pb_dec_init(&d, event->data, event->len);
	while (pb_dec_next(&d, &f))
		if (f.id == PB_GENERIC_FTRACE_EVENT_EVENT_NAME && f.data)
			g.name = strings_intern(&im->store->strings, f.data, f.len);
	number = 0x80000000u | g.name;
	if (generic_find(im, m, number) == NULL_U32)
		generic_add(im, m, number, &g);
	return generic_find(im, m, number);
}

/* ---- rows ---- */

/* Returns the first byte of the length before a message's bytes. The tag before that ends with a
 * byte below 0x80. */
static const uint8_t *length_of(const uint8_t *data)
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
		value = store_raw_payload(im->store, length_of((const uint8_t *)(uintptr_t)value));
	table_set_ts(t, FTRACE_TS, row, ts);
	table_set_u32(t, FTRACE_CPU, row, m->row * MAX_CPUS + cpu);
	table_set_u32(t, FTRACE_UTID, row, utid);
	table_set_u16(t, FTRACE_KIND, row, (uint16_t)kind);
	table_set_i64(t, FTRACE_PAYLOAD, row, (int64_t)(value << PAYLOAD_BITS | (uint64_t)payload));
	m->cpus[cpu].seen = true;
	import_note_ts(im, ts);
}

/* Stores the arguments of an event if one is a kernel symbol: its name is in the sequence's state,
 * which no query can read. Returns false if no symbol has a name. */
static bool store_args(struct import *im, struct machine *m, const struct ftrace_event *e,
		       const struct event_rule *rule, uint64_t *ret_set)
{
	bool named = false;
	uint32_t set;

	if (event_args_decode(im->store, e->number, NULL, e->data, e->len, &im->list) < 0)
		im->store->budget.error = -ENOMEM;
	for (size_t i = 0; i < im->list.n; i++) {
		const struct arg *a = &im->list.args[i];
		uint32_t key = strings_intern(&im->store->strings, a->key, a->key_len);
		struct stored_arg stored = {
			.key = key, .flat_key = key, .type = a->type, .value = a->i};
		uint32_t symbol = NULL_U32;

		if (a->type == ARG_STRING)
			stored.value = strings_intern(&im->store->strings, a->s, a->len);
		else if (strings_find(&im->store->strings, rule->symbol, strlen(rule->symbol)) ==
			 key)
			symbol = event_symbol(m, e, (uint64_t)a->i);
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

static void add_row(struct import *im, struct machine *m, const struct ftrace_event *e,
		    const struct event_rule *rule)
{
	uint32_t kind = e->number;
	uint64_t set;

	if (e->generic != NULL_U32)
		kind = GENERIC_KINDS + e->generic;
	if (!e->len)
		rows_add_ftrace(im, m, e->cpu, e->ts, kind, e->utid, PAYLOAD_STORED, PAYLOAD_NONE);
	else if (rule && rule->symbol && store_args(im, m, e, rule, &set))
		rows_add_ftrace(im, m, e->cpu, e->ts, kind, e->utid, PAYLOAD_STORED, set);
	else
		rows_add_ftrace(im, m, e->cpu, e->ts, kind, e->utid, PAYLOAD_RAW,
				(uintptr_t)e->data);
}

uint32_t event_symbol(struct machine *m, const struct ftrace_event *e, uint64_t iid)
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

/* ---- fields ---- */

bool event_field(const struct ftrace_event *e, uint32_t number, struct pb_field *ret)
{
	struct pb_dec d;

	pb_dec_init(&d, e->data, e->len);
	while (pb_dec_next(&d, ret))
		if (ret->id == number)
			return true;
	*ret = (struct pb_field){.id = 0};
	return false;
}

uint32_t event_text(struct import *im, const struct ftrace_event *e, uint32_t number)
{
	struct pb_field f;

	return event_field(e, number, &f) && f.data
		       ? strings_intern(&im->store->strings, f.data, f.len)
		       : NULL_U32;
}

uint32_t event_function(struct import *im, struct machine *m, const struct ftrace_event *e,
			uint32_t number)
{
	struct pb_field f;
	uint32_t name;

	event_field(e, number, &f);
	name = event_symbol(m, e, f.u64);
	if (name != NULL_U32)
		return name;
	return f.u64 ? strings_intern_f(&im->store->strings, "0x%llx", (unsigned long long)f.u64)
		     : strings_intern_z(&im->store->strings, "0");
}

/* ---- one event ---- */

/* Sets e->generic. Returns false for an event that neither this version nor the trace describes. */
static bool find_kind(struct import *im, struct machine *m, struct ftrace_event *e,
		      const struct pb_field *f)
{
	e->generic = NULL_U32;
	if (e->number == PB_FTRACE_EVENT_GENERIC) {
		e->generic = self_named(im, m, f);
		return e->generic != NULL_U32;
	}
	if (event_args_known(e->number))
		return true;
	e->generic = generic_find(im, m, e->number);
	if (e->generic == NULL_U32 && e->number >= 65536)
		stats_add(im->store, STAT_FTRACE_GENERIC_DESCRIPTOR_ERRORS, STAT_NO_INDEX, 1);
	return e->generic != NULL_U32;
}

static const struct event_rule *find_rule(uint32_t number)
{
	static const struct event_rule *const tables[] = {
		task_rules,   slice_rules,	  counter_rules, thread_slice_rules,
		memory_rules, device_slice_rules, storage_rules, gpu_rules};

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		for (const struct event_rule *r = tables[i]; r->number; r++)
			if (r->number == number)
				return r;
	return NULL;
}

/* Looks the rule up once for each number, as most events have the same few numbers. */
static const struct event_rule *rule_of(struct import *im, uint32_t number)
{
	if (number >= RULES_MAX)
		return NULL;
	if (!im->rules_known[number]) {
		im->rules_known[number] = true;
		im->rules[number] = find_rule(number);
	}
	return im->rules[number];
}

static void make_rows(struct import *im, struct machine *m, struct ftrace_event *e,
		      const struct pb_field *f)
{
	const struct event_rule *rule;

	e->number = f->id;
	e->data = f->data;
	e->len = f->len;
	if (e->number == PB_FTRACE_EVENT_SCHED_SWITCH) {
		rows_full_switch(im, m, e->cpu, e->ts, f->data, f->len);
		return;
	}
	if (!find_kind(im, m, e, f))
		return;
	rule = rule_of(im, e->number);
	e->utid = tasks_thread(&m->tasks, e->tid);
	add_row(im, m, e, rule);
	if (rule && rule->fn && !rows_is_early(m, e->ts))
		rule->fn(im, m, e);
}

void rows_ftrace_event(struct import *im, struct machine *m, uint32_t cpu,
		       const struct queued_event *q)
{
	struct ftrace_event e = {.cpu = cpu, .ts = q->ts, .sequence_state = q->b};
	struct pb_field f, event = {.id = 0};
	struct pb_dec d;

	pb_dec_init(&d, q->data, q->a);
	while (pb_dec_next(&d, &f)) {
		if (f.id == PB_FTRACE_EVENT_PID)
			e.tid = (int32_t)f.u64;
		else if (f.data)
			event = f;
	}
	if (event.id)
		make_rows(im, m, &e, &event);
	else
		stats_add(im->store, STAT_FTRACE_MISSING_EVENT_ID, STAT_NO_INDEX, 1);
}
