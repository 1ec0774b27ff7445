/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes rows of StackSamples: a row of the sample, its contexts, and values of the counters that
 * its weights are of. What a sample leaves out is in the defaults of its sequence; contexts and
 * descriptors of counters are in the sample or interned. As in trace_processor, a weight is dropped
 * if its counter is not known: it has no descriptor, or it is per CPU and the sample has no CPU.
 */
#include "analyze/import/call_stacks.h"
#include "analyze/import/import_steps.h"
#include "analyze/import/profiler_rows.h"
#include "analyze/import/remembered.h"
#include "analyze/import/tracks.h"
#include "analyze/store/columns.h"
#include "gen/fields.h"

#define FOLLOWERS_MAX 64 /* weights of further counters are left out */
#define ASYNC_DEPTH_MAX 64 /* parents of an async context above these are left out */

/* The fields of a sample. A field with id 0 is missing. */
struct stack_sample {
	struct machine *m;
	int64_t ts;
	uint32_t state; /* of its sequence */
	uint32_t source, session; /* a string, a row */
	uint32_t upid, cpu;
	struct pb_field message, defaults;
	struct pb_field task, task_iid, execution, execution_iid, callstack, callstack_iid, error,
		primary, primary_iid, weight;
};

static void read_stack_sample(struct stack_sample *s)
{
	pb_read(&s->message, PB_TO(PB_STACK_SAMPLE_TASK_CONTEXT, &s->task),
		PB_TO_ANY(PB_STACK_SAMPLE__TASK_CONTEXT_IID, &s->task_iid),
		PB_TO(PB_STACK_SAMPLE_EXECUTION_CONTEXT, &s->execution),
		PB_TO_ANY(PB_STACK_SAMPLE__EXECUTION_CONTEXT_IID, &s->execution_iid),
		PB_TO(PB_STACK_SAMPLE_CALLSTACK, &s->callstack),
		PB_TO_ANY(PB_STACK_SAMPLE_CALLSTACK_IID, &s->callstack_iid),
		PB_TO(PB_STACK_SAMPLE_UNWIND_ERROR, &s->error),
		PB_TO(PB_STACK_SAMPLE_PRIMARY_DESCRIPTOR, &s->primary),
		PB_TO_ANY(PB_STACK_SAMPLE_PRIMARY_DESCRIPTOR_IID, &s->primary_iid),
		PB_TO_ANY(PB_STACK_SAMPLE_PRIMARY_WEIGHT, &s->weight));
}

/* Sets *ret to the message in the sample, or else to the interned one. Returns false if there is
 * neither; counts an unknown iid. */
static bool find_message(const struct stack_sample *s, const struct pb_field *here,
			 const struct pb_field *iid, uint32_t table, struct pb_field *ret)
{
	*ret = *here;
	return here->id ||
	       (iid->id && sequences_message(&s->m->sequences, s->state, table, iid->u64, ret));
}

/* ---- contexts ---- */

/* Returns the row of an async context, after making rows of its parents. */
static uint32_t async_context(struct import *im, const struct stack_sample *s, uint64_t iid)
{
	uint64_t base = sequences_state(&s->m->sequences, s->state)->base;
	struct table *t = import_table(im, TABLE_ASYNC_CONTEXT);
	struct {
		struct row_key key;
		struct pb_field name, kind;
	} path[ASYNC_DEPTH_MAX];
	uint32_t row = NULL_U32, n = 0;

	for (; iid && n < ASYNC_DEPTH_MAX; n++) {
		bool is_ancestor_of_itself = false;
		struct pb_field f;

		for (uint32_t i = 0; i < n; i++)
			is_ancestor_of_itself |= path[i].key.of[2] == iid;
		path[n].key = (struct row_key){ROW_ASYNC_CONTEXT, {s->m->row, base, iid}};
		row = row_keys_find(im, &path[n].key);
		if (row != NULL_U32 || is_ancestor_of_itself ||
		    !sequences_message(&s->m->sequences, s->state,
				       PB_INTERNED_DATA_STACK_SAMPLE_ASYNC_CONTEXT_DESCRIPTORS, iid,
				       &f))
			break;
		path[n].name = path[n].kind = (struct pb_field){.id = 0};
		iid = 0;
		pb_read(&f, PB_TO(PB_STACK_SAMPLE_ASYNC_CONTEXT_DESCRIPTOR_NAME, &path[n].name),
			PB_TO(PB_STACK_SAMPLE_ASYNC_CONTEXT_DESCRIPTOR_KIND, &path[n].kind),
			PB_TO(PB_STACK_SAMPLE_ASYNC_CONTEXT_DESCRIPTOR_PARENT_IID, &iid));
	}
	while (n-- > 0) {
		uint32_t parent = row;

		row = table_append(t);
		table_set_u32(t, ASYNC_CONTEXT_NAME, row, import_intern_text(im, &path[n].name));
		table_set_u32(t, ASYNC_CONTEXT_KIND, row, import_intern_text(im, &path[n].kind));
		table_set_u32(t, ASYNC_CONTEXT_PARENT, row, parent);
		row_keys_add(im, &path[n].key, row);
	}
	return row;
}

/* Sets s->upid. Returns the row of the task context, or NULL_U32. */
static uint32_t task_context(struct import *im, struct stack_sample *s)
{
	uint32_t utid = NULL_U32, async = NULL_U32;
	struct pb_field f, pid = {0}, tid = {0}, async_iid = {0};
	struct tasks *tasks = &s->m->tasks;

	if (!find_message(s, &s->task, &s->task_iid, PB_INTERNED_DATA_STACK_SAMPLE_TASK_CONTEXTS,
			  &f))
		return NULL_U32;
	pb_read(&f, PB_TO_ANY(PB_STACK_SAMPLE_TASK_CONTEXT_PID, &pid),
		PB_TO_ANY(PB_STACK_SAMPLE_TASK_CONTEXT_TID, &tid),
		PB_TO_ANY(PB_STACK_SAMPLE_TASK_CONTEXT_ASYNC_ID, &async_iid));
	if (pid.id)
		s->upid = tasks_get_process(tasks, (uint32_t)pid.u64);
	if (tid.id)
		utid = pid.id ? tasks_get_thread_of_process(tasks, (uint32_t)tid.u64,
							    (uint32_t)pid.u64)
			      : tasks_get_thread(tasks, (uint32_t)tid.u64);
	if (async_iid.id)
		async = async_context(im, s, async_iid.u64);
	return profiler_get_task(im, s->upid, utid, async);
}

/* Sets s->cpu. Returns the row of the execution context, or NULL_U32. */
static uint32_t execution_context(struct import *im, struct stack_sample *s)
{
	static const char *const modes[] = {NULL,	  "user",	"kernel",
					    "hypervisor", "guest_user", "guest_kernel"};
	uint64_t mode = 0;
	struct pb_field f;

	if (!find_message(s, &s->execution, &s->execution_iid,
			  PB_INTERNED_DATA_STACK_SAMPLE_EXECUTION_CONTEXTS, &f))
		return NULL_U32;
	pb_read(&f, PB_TO(PB_STACK_SAMPLE_EXECUTION_CONTEXT_CPU, &s->cpu),
		PB_TO(PB_STACK_SAMPLE_EXECUTION_CONTEXT_MODE, &mode));
	if (s->cpu >= MAX_CPUS)
		s->cpu = NULL_U32;
	return profiler_get_execution(im, s->m, s->cpu,
				      mode && mode < ARRAY_SIZE(modes)
					      ? strings_intern_z(&im->store->strings, modes[mode])
					      : NULL_U32);
}

/* ---- counters ---- */

struct counter_description {
	uint32_t name, unit; /* strings; unit NULL_U32: none */
	struct pb_field multiplier, text;
	bool of_cpu;
};

static void read_descriptor(struct import *im, const struct pb_field *message,
			    struct counter_description *ret)
{
	static const char *const units[] = {
		NULL,	       "ns",	       "cycles",	   "instructions",  "bytes",
		"page-faults", "cache-misses", "cache-references", "branch-misses", "count"};
	struct pb_field name = {0}, unit_text = {0};
	uint64_t unit = 0, scope = 0;

	*ret = (struct counter_description){.unit = NULL_U32};
	pb_read(message, PB_TO(PB_STACK_SAMPLE_COUNTER_DESCRIPTOR_NAME, &name),
		PB_TO(PB_STACK_SAMPLE_COUNTER_DESCRIPTOR_UNIT, &unit),
		PB_TO(PB_STACK_SAMPLE_COUNTER_DESCRIPTOR_UNIT_STR, &unit_text),
		PB_TO_ANY(PB_STACK_SAMPLE_COUNTER_DESCRIPTOR_UNIT_MULTIPLIER, &ret->multiplier),
		PB_TO(PB_STACK_SAMPLE_COUNTER_DESCRIPTOR_DESCRIPTION, &ret->text),
		PB_TO(PB_STACK_SAMPLE_COUNTER_DESCRIPTOR_SCOPE, &scope));
	ret->name = strings_intern(&im->store->strings, name.data, name.data ? name.len : 0);
	if (unit && unit < ARRAY_SIZE(units))
		ret->unit = strings_intern_z(&im->store->strings, units[unit]);
	else if (unit_text.len)
		ret->unit = import_intern_text(im, &unit_text);
	ret->of_cpu = scope == 2; /* SCOPE_CPU */
}

static void describe_track(struct import *im, uint32_t track, const struct counter_description *d,
			   bool is_timebase)
{
	struct table *t = import_table(im, TABLE_TRACK);

	table_set_u32(t, TRACK_UNIT, track, d->unit);
	arg_builder_add_int(im->store, &im->args, "is_timebase", ARG_BOOL, is_timebase);
	if (d->multiplier.id)
		arg_builder_add_int(im->store, &im->args, "unit_multiplier", ARG_INT,
				    (int64_t)d->multiplier.u64);
	if (d->text.len)
		arg_builder_add_int(im->store, &im->args, "description", ARG_STRING,
				    import_intern_text(im, &d->text));
	table_set_u32(t, TRACK_SOURCE_ARGS, track, arg_sets_add(im->store, &im->args));
}

/* Returns the track of a counter of the sample's session, made at its first use; NULL_U32 if it is
 * a counter of a CPU, and the sample has none. is_timebase: the session also gets the counter's
 * unit if it has none. */
static uint32_t counter_track(struct import *im, const struct stack_sample *s,
			      const struct pb_field *descriptor, bool is_timebase)
{
	static const struct track_type of_session = {
		"stack_sample_session_counter",
		NULL,
		true,
		{{"session_id", false}, {"source", true}, {"counter_name", true}}};
	static const struct track_type of_cpu = {
		"stack_sample_cpu_counter",
		NULL,
		true,
		{{"cpu", false}, {"session_id", false}, {"source", true}, {"counter_name", true}}};
	struct table *tracks = import_table(im, TABLE_TRACK);
	struct table *sessions = import_table(im, TABLE_PROFILER_SESSION);
	struct counter_description d;
	uint32_t track;

	read_descriptor(im, descriptor, &d);
	if (is_timebase && table_u32(sessions, PROFILER_SESSION_UNIT, s->session) == NULL_U32)
		table_set_u32(sessions, PROFILER_SESSION_UNIT, s->session, d.unit);
	if (d.of_cpu && s->cpu == NULL_U32)
		return NULL_U32;
	if (d.of_cpu)
		track = tracks_get(im, s->m, &of_cpu, d.name,
				   (const int64_t[]){s->cpu, s->session, s->source, d.name});
	else
		track = tracks_get(im, s->m, &of_session, d.name,
				   (const int64_t[]){s->session, s->source, d.name});
	if (table_u32(tracks, TRACK_SOURCE_ARGS, track) == NULL_U32)
		describe_track(im, track, &d, is_timebase);
	return track;
}

/* Returns the track of the sample's weight; NULL_U32: none. */
static uint32_t primary_track(struct import *im, const struct stack_sample *s)
{
	struct pb_field f = {0};

	if (!find_message(s, &s->primary, &s->primary_iid,
			  PB_INTERNED_DATA_STACK_SAMPLE_COUNTER_DESCRIPTORS, &f) &&
	    !s->primary_iid.id)
		pb_read(&s->defaults, PB_TO(PB_STACK_SAMPLE_DEFAULTS_PRIMARY_DESCRIPTOR, &f));
	return f.data ? counter_track(im, s, &f, true) : NULL_U32;
}

struct follower_list {
	uint32_t tracks[FOLLOWERS_MAX]; /* NULL_U32: its weight is dropped */
	size_t n;
};

static void add_follower_tracks(struct import *im, const struct stack_sample *s,
				const struct pb_field *message, uint32_t field,
				struct follower_list *ret)
{
	pb_for_each (f, message)
		if (f.id == field && f.data && ret->n < FOLLOWERS_MAX)
			ret->tracks[ret->n++] = counter_track(im, s, &f, false);
}

static void add_interned_followers(struct import *im, const struct stack_sample *s,
				   struct follower_list *ret)
{
	struct pb_field message;
	uint64_t iid;

	pb_for_each (f, &s->message) {
		if (f.id != PB_STACK_SAMPLE_FOLLOWER_DESCRIPTOR_IIDS)
			continue;
		for (struct pb_packed p = pb_packed_of(&f);
		     ret->n < FOLLOWERS_MAX && pb_packed_next(&p, &iid);)
			ret->tracks[ret->n++] =
				sequences_message(&s->m->sequences, s->state,
						  PB_INTERNED_DATA_STACK_SAMPLE_COUNTER_DESCRIPTORS,
						  iid, &message)
					? counter_track(im, s, &message, false)
					: NULL_U32;
	}
}

/* Adds the weights as values of counters. Returns their set. */
static uint32_t add_sample_weights(struct import *im, const struct stack_sample *s)
{
	uint32_t track = primary_track(im, s), set = NULL_U32;
	struct follower_list followers = {.n = 0};
	uint64_t weight;
	size_t n = 0;

	if (track != NULL_U32 && s->weight.id)
		profiler_add_value(im, s->ts, track, (double)s->weight.u64, &set);
	add_follower_tracks(im, s, &s->message, PB_STACK_SAMPLE_FOLLOWER_DESCRIPTORS, &followers);
	if (!followers.n)
		add_interned_followers(im, s, &followers);
	if (!followers.n)
		add_follower_tracks(im, s, &s->defaults,
				    PB_STACK_SAMPLE_DEFAULTS_FOLLOWER_DESCRIPTORS, &followers);
	pb_for_each (f, &s->message) {
		if (f.id != PB_STACK_SAMPLE_FOLLOWER_WEIGHTS)
			continue;
		for (struct pb_packed p = pb_packed_of(&f);
		     n < followers.n && pb_packed_next(&p, &weight); n++)
			if (followers.tracks[n] != NULL_U32)
				profiler_add_value(im, s->ts, followers.tracks[n], (double)weight,
						   &set);
	}
	return set;
}

/* ---- the sample ---- */

static uint32_t stack_sample_callsite(struct import *im, const struct stack_sample *s)
{
	const struct stack_owner owner = {s->m, s->state, s->upid};

	if (s->callstack_iid.id)
		return call_stack_get_interned(im, &owner, s->callstack_iid.u64);
	return s->callstack.data ? call_stack_add_inline(im, &s->callstack, "stack_sample_inline")
				 : NULL_U32;
}

void import_stack_sample(struct import *im, struct machine *m, int64_t ts, const struct packet *p,
			 uint32_t state)
{
	struct stack_sample s = {.m = m,
				 .ts = ts,
				 .state = state,
				 .upid = NULL_U32,
				 .cpu = NULL_U32,
				 .message = p->payload};
	struct profiler_sample row = {.ts = ts};
	struct pb_field source = {0};

	if (state == NULL_U32)
		return;
	read_stack_sample(&s);
	s.defaults = sequences_state(&m->sequences, state)->stack_defaults;
	pb_read(&s.defaults, PB_TO(PB_STACK_SAMPLE_DEFAULTS_SOURCE, &source));
	s.source = source.len ? import_intern_text(im, &source) : NULL_U32;
	s.session = profiler_get_session(im, m, REMEMBER_STACK_SESSION, p->sequence, s.source);
	row.source = s.source;
	row.session = s.session;
	row.error = import_intern_text(im, &s.error);
	row.task = task_context(im, &s);
	row.execution = execution_context(im, &s);
	row.values = add_sample_weights(im, &s);
	row.callsite = stack_sample_callsite(im, &s);
	profiler_add_sample(im, &row);
}
