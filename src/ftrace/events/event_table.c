/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libtraceevent parses each format in a handle of its own, which is freed when the event is
 * compiled.
 *
 *	events    [ a ][ b ][ b' ]         b' is b after its module was reloaded. Written bundles
 *	           ^           ^           contain records of b, and an open one may refer to
 *	by_id     [0][1] ... [7]           b, so b stays until the sweep.
 */
#include "ftrace/events/event_table.h"

#include <errno.h>
#include <event-parse.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/fnv.h"
#include "base/core/hash_table.h"
#include "base/core/mem.h"
#include "base/text/number_read.h"
#include "ftrace/encode/event_compile.h"
#include "ftrace/encode/event_encode.h"
#include "ftrace/format/event_format.h"
#include "ftrace/format/proto_events.h"

/* ---- field numbers ---- */

/* Field numbers of FtraceEvent for events without a message. A trace may contain records of
 * several sources of this process, and a number means one event in all of it. So numbers are
 * unique in the process; the same event gets the same number. */
#define GENERIC_NUMBER_FIRST 65536u
#define GENERIC_NUMBERS 65536u

/* Numbers are assigned round-robin, so that a number is reused as late as possible. */

struct entry {
	uint64_t shape;
	uint32_t number;
	uint32_t users;
	UT_hash_handle hh;
};

/* All numbers that this process uses. */
static struct entry *by_shape;
static struct entry *by_number[GENERIC_NUMBERS]; /* from GENERIC_NUMBER_FIRST on; owned */
static uint32_t next_number;

/* Adds an entry with an unused number, of which there must be one. Returns NULL if out of
 * memory. */
static struct entry *generic_entry_new(uint64_t shape)
{
	struct entry *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	while (by_number[next_number])
		next_number = (next_number + 1) % GENERIC_NUMBERS;
	e->shape = shape;
	e->number = GENERIC_NUMBER_FIRST + next_number;
	HASH_ADD(hh, by_shape, shape, sizeof(e->shape), e);
	if (!e->hh.tbl) {
		free(e);
		return NULL;
	}
	by_number[next_number] = e;
	next_number = (next_number + 1) % GENERIC_NUMBERS;
	return e;
}

/* Acquires a number for the event with this shape, a hash of its whole descriptor. Returns 0,
 * -ENOSPC if all numbers are in use, or -ENOMEM. */
static int generic_number_acquire(uint64_t shape, uint32_t *ret)
{
	struct entry *e;

	HASH_FIND(hh, by_shape, &shape, sizeof(shape), e);
	if (!e && HASH_COUNT(by_shape) == GENERIC_NUMBERS)
		return -ENOSPC;
	if (!e)
		e = generic_entry_new(shape);
	if (!e)
		return -ENOMEM;
	e->users++;
	*ret = e->number;
	return 0;
}

/* Releases a number. Call it once for each generic_number_acquire(), when all records with the
 * number are written. The number is reused only after all others. */
static void generic_number_release(uint32_t number)
{
	uint32_t at = number - GENERIC_NUMBER_FIRST;
	struct entry *e = at < GENERIC_NUMBERS ? by_number[at] : NULL;

	if (!e || --e->users)
		return;
	by_number[at] = NULL;
	HASH_DELETE(hh, by_shape, e);
	free(e);
}

/* ---- the table ---- */

/* Copies the print format, which event_table_parse() cuts out. It shows which fields are function
 * addresses, and the names of values. */
static char *copy_print_fmt(const char *format)
{
	static const char head[] = "print fmt:";
	const char *at = strstr(format, head);

	return strdup(at ? at + strlen(head) : "");
}

static struct tep_event *event_table_parse(struct tep_handle *tep, const char *group, char *format)
{
	tep_set_loglevel(TEP_LOG_NONE);
	if (!event_format_prepare(format) || tep_parse_event(tep, format, strlen(format), group))
		return NULL;
	return tep_get_first_event(tep);
}

DEFINE_DESTRUCTOR(struct tep_handle *, tep_free)

static enum compiled_kind compact_kind(const char *group, const char *name,
				       const struct event_table_options *o)
{
	bool some = o->compact == COMPACT_OF_SUBJECT;

	if (!o->compact || strcmp(group, "sched"))
		return COMPILED_FIELDS;
	if (!strcmp(name, "sched_switch"))
		return some ? COMPILED_SUBJECT_SWITCH : COMPILED_COMPACT_SWITCH;
	if (!strcmp(name, "sched_waking"))
		return some ? COMPILED_SUBJECT_WAKING : COMPILED_COMPACT_WAKING;
	return COMPILED_FIELDS;
}

static void compiled_event_free(struct compiled_event *ev)
{
	if (ev)
		free(ev->whole);
	free(ev);
}
DEFINE_DESTRUCTOR(struct compiled_event *, compiled_event_free)

/* Compiles sched_switch or sched_waking to columns. */
static int compile_columns(const struct tep_event *event, enum compiled_kind kind,
			   const struct compile_context *ctx, struct compiled_event **ret)
{
	_cleanup_(compiled_event_freep) struct compiled_event *ev = NULL;
	int r = event_compile_compact(event, kind, &ev);

	if (!r && kind == COMPILED_SUBJECT_WAKING) {
		r = event_compile_known(event, ctx, &ev->whole);
		if (!r && ev->whole->generic_index != COMPILED_NOT_GENERIC)
			r = -EPROTO;
		if (!r)
			ev->min_len = MAX(ev->min_len, ev->whole->min_len);
	}
	if (r)
		return r;
	*ret = ev;
	ev = NULL;
	return 0;
}

/* ---- finding ---- */

static uint64_t event_table_hash(uint64_t h, const char *s)
{
	return fnv1a(h, s, strlen(s) + 1);
}

/* Hashes all inputs of the compilation. The text of the format contains the event's id and name. */
static uint64_t hash_compile_inputs(const char *group, const char *name,
				    const struct event_representation *repr, const char *format)
{
	uint64_t h = event_table_hash(FNV1A_START, repr ? repr->group : group);

	h = event_table_hash(h, repr ? repr->name : name) + (repr ? repr->as + 1 : 0);
	return event_table_hash(h, format);
}

const struct compiled_event *event_table_find(const struct event_table *t, const char *group,
					      const char *name,
					      const struct event_representation *repr,
					      const char *format)
{
	static const char head[] = "\nID: ";
	const char *at = strstr(format, head);
	uint64_t id = at ? str_leading_u64(at + strlen(head), 10) : UINT64_MAX;
	const struct compiled_event *ev;

	ev = id <= UINT16_MAX ? event_table_get(t, (uint16_t)id) : NULL;
	return ev && ev->shape == hash_compile_inputs(group, name, repr, format) ? ev : NULL;
}

const struct compiled_event *event_table_find_named(const struct event_table *t, const char *group,
						    const char *name)
{
	const struct compiled_event *ev;

	for (uint32_t id = 0; id < t->n_ids; id++) {
		ev = t->by_id[id];
		if (ev && !strcmp(ev->group, group) && !strcmp(ev->name, name))
			return ev;
	}
	return NULL;
}

/* ---- adding ---- */

/* Acquires a number once for the table, which releases it when the table is freed, because written
 * records contain it. Returns 0, EVENT_TABLE_FULL or -ENOMEM. */
static int event_table_acquire_number(struct event_table *t, uint64_t shape, uint32_t *ret)
{
	int r;

	if (array_reserve(&t->numbers, &t->numbers_cap, t->n_numbers + 1, sizeof(*t->numbers)))
		return -ENOMEM;
	r = generic_number_acquire(shape, ret);
	if (r)
		return r == -ENOSPC ? EVENT_TABLE_FULL : r;
	for (size_t i = 0; i < t->n_numbers; i++)
		if (t->numbers[i] == *ret) {
			generic_number_release(*ret);
			return 0;
		}
	if (t->n_numbers == EVENT_TABLE_GENERIC_MAX) {
		generic_number_release(*ret);
		return EVENT_TABLE_FULL;
	}
	t->numbers[t->n_numbers++] = *ret;
	return 0;
}

static int compile_generic(struct event_table *t, const struct tep_event *event,
			   const struct event_table_options *o, const struct compile_context *ctx,
			   uint64_t shape, struct compiled_event **ret)
{
	uint32_t number = 0;
	int r = 0;

	if (o->no_generic)
		return EVENT_TABLE_GENERIC_REFUSED;
	/* With function names, the event has other fields and so another number. */
	if (!o->legacy_generic)
		r = event_table_acquire_number(t, shape + o->symbols, &number);
	return r ? r : event_compile_generic(event, ctx, number, o->legacy_generic, ret);
}

/* Returns true for the events of markers and trace_printk() other than ftrace/print. The kernel
 * records them for all threads, whatever the instance's pid filter is. */
static bool is_copied_marker(const struct tep_event *event)
{
	static const char *const names[] = {"raw_data", "bprint", "bputs"};

	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(event->name, names[i]))
			return true;
	return false;
}

/* Marks the event as filtered: the page encoder then decides for each record whether it is
 * written. */
static int set_filtered_kind(const struct event_table *t, const struct tep_event *event,
			     struct compiled_event *ev)
{
	if (!t->prints || strcmp(event->system, "ftrace"))
		return 0;
	if (is_copied_marker(event) && print_filter_has_tids(t->prints))
		ev->kind = ev->kind == COMPILED_LEGACY ? COMPILED_LEGACY_OF_THREADS
						       : COMPILED_OF_THREADS;
	if (strcmp(event->name, "print"))
		return 0;
	for (unsigned i = 0; i < ev->n_ops; i++)
		if (ev->ops[i].type == FIELD_TAIL_STR) {
			ev->kind = COMPILED_PRINT;
			return 0;
		}
	return -EPROTO;
}

static int event_table_compile(struct event_table *t, const struct tep_event *event,
			       const struct event_representation *repr,
			       const struct event_table_options *o,
			       const struct compile_context *ctx, uint64_t shape,
			       struct compiled_event **ret)
{
	enum compiled_kind kind = compact_kind(event->system, event->name, o);
	struct proto_event message;

	if (o->metadata_only)
		return event_compile_metadata(event, ret);
	if (repr && repr->as >= EVENT_AS_PROBE_BEGIN)
		return event_compile_probe(event, repr->as - EVENT_AS_PROBE_BEGIN + 1, ret);
	if (repr && repr->as == EVENT_AS_FIELDS)
		return compile_generic(t, event, o, ctx, shape, ret);
	if (kind != COMPILED_FIELDS)
		return compile_columns(event, kind, ctx, ret);
	if (proto_events_find(event->system, event->name, &message))
		return event_compile_known(event, ctx, ret);
	return compile_generic(t, event, o, ctx, shape, ret);
}

/* Compiles an event. If it needs a descriptor, it gets an unused generic_index, which free_event()
 * releases. On failure, the caller frees *ret unless it is NULL. */
static int compile_with_index(struct event_table *t, const struct tep_event *event,
			      const struct event_representation *repr,
			      const struct event_table_options *o, const char *print_fmt,
			      uint64_t shape, struct compiled_event **ret)
{
	bool reused = t->n_free_indices;
	struct compile_context ctx = {
		.max_text = t->strings.max_len,
		.index = reused ? t->free_indices[t->n_free_indices - 1] : (uint16_t)t->n_generic,
		.print_fmt = print_fmt,
		.symbols = o->symbols,
	};
	int r;

	if (t->n_generic == COMPILED_NOT_GENERIC)
		return EVENT_TABLE_FULL;
	if (array_reserve(&t->free_indices, &t->free_indices_cap, t->n_generic + 1,
			  sizeof(*t->free_indices)))
		return -ENOMEM;
	r = event_table_compile(t, event, repr, o, &ctx, shape, ret);
	if (!r)
		r = set_filtered_kind(t, event, *ret);
	if (r || (*ret)->generic_index == COMPILED_NOT_GENERIC)
		return r;
	t->n_free_indices -= reused;
	t->n_generic += !reused;
	return 0;
}

/* Extends by_id up to id. */
static int reserve_event_id(struct event_table *t, uint32_t id)
{
	if (array_reserve(&t->by_id, &t->ids_cap, (size_t)id + 1, sizeof(*t->by_id)))
		return -ENOMEM;
	while (t->n_ids <= id)
		t->by_id[t->n_ids++] = NULL;
	return 0;
}

/* Renames the event as the trace represents it. */
static int rename_event(struct tep_event *event, const char *new_group, const char *new_name)
{
	char *group = strdup(new_group), *name = strdup(new_name);

	if (!group || !name) {
		free(group);
		free(name);
		return -ENOMEM;
	}
	free(event->system);
	free(event->name);
	event->system = group;
	event->name = name;
	return 0;
}

/* Returns true if the event has this name, in which event_format_prepare() has replaced dots by
 * underscores. */
static bool event_is_named(const struct tep_event *event, const char *name)
{
	const char *at = event->name;

	while (*at && *at == (*name == '.' ? '_' : *name))
		at++, name++;
	return !*at && !*name;
}

static int rename_event_if_needed(struct tep_event *event, const char *name,
				  const struct event_representation *repr)
{
	if (repr)
		return rename_event(event, repr->group, repr->name);
	return strchr(name, '.') ? rename_event(event, event->system, name) : 0;
}

int event_table_add_as(struct event_table *t, const char *group, const char *name,
		       const struct event_representation *repr, char *format,
		       const struct event_table_options *options, uint16_t *ret_id)
{
	_cleanup_(tep_freep) struct tep_handle *tep = tep_alloc();
	const struct compiled_event *old = event_table_find(t, group, name, repr, format);
	_cleanup_(compiled_event_freep) struct compiled_event *ev = NULL;
	_cleanup_(freep) char *print_fmt = NULL;
	uint64_t shape = hash_compile_inputs(group, name, repr, format);
	struct tep_event *event;
	int r;

	if (old) {
		*ret_id = old->id;
		return 0;
	}
	print_fmt = copy_print_fmt(format);
	if (!tep || !print_fmt)
		return -ENOMEM;
	event = event_table_parse(tep, group, format);
	if (!event || !event_is_named(event, name))
		return EVENT_TABLE_BAD_FORMAT;
	if (event->id < 0 || event->id > UINT16_MAX)
		return EVENT_TABLE_BAD_FORMAT;
	if (reserve_event_id(t, (uint32_t)event->id) ||
	    array_reserve(&t->events, &t->events_cap, t->n_events + 1, sizeof(*t->events)) ||
	    rename_event_if_needed(event, name, repr))
		return -ENOMEM;
	r = compile_with_index(t, event, repr, options, print_fmt, shape, &ev);
	if (r)
		return r == -EPROTO ? EVENT_TABLE_BAD_FORMAT : r;
	ev->shape = shape;
	*ret_id = ev->id;
	t->by_id[ev->id] = ev;
	t->events[t->n_events++] = TAKE_PTR(ev);
	return 0;
}

int event_table_add(struct event_table *t, const char *group, const char *name, char *format,
		    const struct event_table_options *options, uint16_t *ret_id)
{
	return event_table_add_as(t, group, name, NULL, format, options, ret_id);
}

/* ---- removing ---- */

void event_table_remove(struct event_table *t, uint16_t id)
{
	if (id < t->n_ids)
		t->by_id[id] = NULL;
}

/* Frees an event and its index; free_indices has room for every index. */
static void free_event(struct event_table *t, struct compiled_event *ev)
{
	if (ev->generic_index != COMPILED_NOT_GENERIC)
		t->free_indices[t->n_free_indices++] = ev->generic_index;
	compiled_event_free(ev);
}

void event_table_drop_removed(struct event_table *t)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->n_events; i++)
		if (t->by_id[t->events[i]->id] == t->events[i])
			t->events[kept++] = t->events[i];
		else
			free_event(t, t->events[i]);
	t->n_events = kept;
}

bool event_table_can_compact(const char *group, const char *name, char *format,
			     const struct event_table_options *options)
{
	_cleanup_(tep_freep) struct tep_handle *tep = tep_alloc();
	_cleanup_(compiled_event_freep) struct compiled_event *ev = NULL;
	enum compiled_kind kind = compact_kind(group, name, options);
	const struct tep_event *event;

	if (!tep || kind == COMPILED_FIELDS)
		return false;
	event = event_table_parse(tep, group, format);
	return event && !compile_columns(event, kind, &(struct compile_context){0}, &ev);
}

size_t event_table_max_size(const struct event_table *t, uint32_t len)
{
	size_t bound = 1, n;

	for (size_t i = 0; i < t->n_events; i++) {
		const struct compiled_event *ev = t->events[i]->whole;

		n = event_encode_max_bytes(ev ? ev : t->events[i], len);
		bound = MAX(bound, n);
	}
	return bound;
}

void event_table_deinit(struct event_table *t)
{
	for (size_t i = 0; i < t->n_events; i++)
		compiled_event_free(t->events[i]);
	for (size_t i = 0; i < t->n_numbers; i++)
		generic_number_release(t->numbers[i]);
	free(t->events);
	free(t->by_id);
	free(t->free_indices);
	free(t->numbers);
	printk_formats_deinit(&t->strings);
	print_filter_free(t->prints);
	*t = (struct event_table){0};
}
