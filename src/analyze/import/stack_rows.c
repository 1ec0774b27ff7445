/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes rows of linux.perf's samples: a row of perf_sample, rows of the call stack, and values of
 * counters (perf_counters.h). Equal frames and call sites have one row. As in
 * trace_processor, a mapping has a row for each process and each iid; equal mappings without a
 * range (the kernel) have one row. A hash has two kinds of keys:
 *
 *	state, process, iid	gives the row, so that an interned message is decoded once
 *	contents		gives the row of equal contents
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/import/import_steps.h"
#include "analyze/import/perf_counters.h"
#include "analyze/store/stack_columns.h"
#include "base/core/hash_table.h"
#include "gen/fields.h"

enum node_kind {
	NODE_CALLSTACK, /* by state, process, iid: the innermost call site */
	NODE_INTERNED_FRAME, /* by state, process, iid */
	NODE_INTERNED_MAPPING, /* by state, process, iid */
	NODE_MAPPING, /* by contents, as the next ones */
	NODE_CALLSITE,
	NODE_FRAME,
};

struct stack_key {
	uint64_t kind;
	uint64_t of[7]; /* the rest is 0 */
};

struct stack_node {
	struct stack_key key;
	uint32_t row;
	UT_hash_handle hh;
};

void stacks_imported_deinit(struct import *im)
{
	struct stack_node *n, *next;

	HASH_ITER (hh, im->stack_nodes, n, next) {
		HASH_DEL(im->stack_nodes, n);
		free(n);
	}
}

/* Returns NULL_U32 if there is none. */
static uint32_t find(struct import *im, const struct stack_key *key)
{
	struct stack_node *n;

	HASH_FIND(hh, im->stack_nodes, key, sizeof(*key), n);
	return n ? n->row : NULL_U32;
}

static uint32_t add(struct import *im, const struct stack_key *key, uint32_t row)
{
	struct stack_node *n =
		budget_take(&im->store->budget, sizeof(*n)) ? malloc(sizeof(*n)) : NULL;

	if (n) {
		n->key = *key;
		n->row = row;
		HASH_ADD(hh, im->stack_nodes, key, sizeof(n->key), n);
		if (n->hh.tbl)
			return row;
		free(n);
	}
	im->store->budget.error = im->store->budget.error ? im->store->budget.error : -ENOMEM;
	return row;
}

static void count(struct import *im, enum stat_number stat)
{
	stats_add(im->store, stat, STAT_NO_INDEX, 1);
}

/* Counts an iid that is not in the interned data. stat: of its table. */
static void count_unknown_iid(struct import *im, enum stat_number stat)
{
	count(im, STAT_INTERNED_DATA_TOKENIZER_ERRORS);
	count(im, stat);
}

/* ---- mappings ---- */

struct mapping {
	uint64_t build_id, exact_offset, start_offset, start, end, load_bias;
	uint32_t name;
};

/* Appends a part to a path, with a '/' before it, also before the first part. */
static void add_part(struct strbuf *path, const char *part)
{
	if (*part && *part != '/')
		strbuf_putc(path, '/');
	strbuf_puts(path, part);
}

static uint32_t hex(struct import *im, uint32_t string)
{
	const struct interned_string *bytes = &im->store->strings.of[string];
	struct strbuf text = {0};
	uint32_t id;

	for (uint32_t i = 0; i < bytes->len; i++)
		strbuf_printf(&text, "%02x", (uint8_t)bytes->s[i]);
	id = strings_intern_buf(&im->store->strings, &text);
	strbuf_deinit(&text);
	return id;
}

/* Returns false, and counts it, if the iid of the build id is not known. */
static bool read_mapping(struct import *im, struct machine *m, uint32_t state,
			 const struct pb_field *message, struct mapping *ret)
{
	struct strbuf path = {0};
	bool ends = false;
	struct pb_field f;
	struct pb_dec d;
	uint32_t string;

	*ret = (struct mapping){.build_id = 0};
	pb_dec_init(&d, message->data, message->len);
	while (pb_dec_next(&d, &f)) {
		switch (f.id) {
		case PB_MAPPING_BUILD_ID:
			ret->build_id = f.u64;
			break;
		case PB_MAPPING_EXACT_OFFSET:
			ret->exact_offset = f.u64;
			break;
		case PB_MAPPING_START_OFFSET:
			ret->start_offset = f.u64;
			break;
		case PB_MAPPING_START:
			ret->start = f.u64;
			break;
		case PB_MAPPING_END:
			ret->end = f.u64;
			break;
		case PB_MAPPING_LOAD_BIAS:
			ret->load_bias = f.u64;
			break;
		case PB_MAPPING_PATH_STRING_IDS:
			string = sequences_string(&m->sequences, state,
						  PB_INTERNED_DATA_MAPPING_PATHS, f.u64);
			if (string == NULL_U32 && !ends)
				count_unknown_iid(im, STAT_STACKPROFILE_INVALID_STRING_ID);
			ends |= string == NULL_U32;
			if (!ends)
				add_part(&path, strings_get(&im->store->strings, string));
			break;
		}
	}
	ret->name = strings_intern_buf(&im->store->strings, &path);
	strbuf_deinit(&path);
	string = ret->build_id ? sequences_string(&m->sequences, state, PB_INTERNED_DATA_BUILD_IDS,
						  ret->build_id)
			       : 0;
	if (string == NULL_U32)
		count_unknown_iid(im, STAT_STACKPROFILE_INVALID_STRING_ID);
	else
		ret->build_id = hex(im, string);
	return string != NULL_U32;
}

static uint32_t new_mapping(struct import *im, const struct mapping *m)
{
	struct table *t = import_table(im, TABLE_STACK_MAPPING);
	uint32_t row = table_append(t);

	table_set_u32(t, STACK_MAPPING_BUILD_ID, row, (uint32_t)m->build_id);
	table_set_i64(t, STACK_MAPPING_EXACT_OFFSET, row, (int64_t)m->exact_offset);
	table_set_i64(t, STACK_MAPPING_START_OFFSET, row, (int64_t)m->start_offset);
	table_set_i64(t, STACK_MAPPING_START, row, (int64_t)m->start);
	table_set_i64(t, STACK_MAPPING_END, row, (int64_t)m->end);
	table_set_i64(t, STACK_MAPPING_LOAD_BIAS, row, (int64_t)m->load_bias);
	table_set_u32(t, STACK_MAPPING_NAME, row, m->name);
	return row;
}

/* The state in which iids are looked up, and the process whose stacks they describe. */
struct owner {
	struct machine *m;
	uint32_t state, upid;
};

static struct stack_key interned_key(const struct owner *o, enum node_kind kind, uint64_t iid)
{
	return (struct stack_key){
		kind, {o->m->row, sequences_state(&o->m->sequences, o->state)->base, iid, o->upid}};
}

/* Sets *ret to the message of an iid. Returns false, and counts it, for an unknown iid. */
static bool interned(struct import *im, const struct owner *o, uint32_t table, uint64_t iid,
		     enum stat_number missing, struct pb_field *ret)
{
	if (sequences_has(&o->m->sequences, o->state, table, iid))
		return sequences_message(&o->m->sequences, o->state, table, iid, ret);
	count_unknown_iid(im, missing);
	return false;
}

static uint32_t mapping_row(struct import *im, const struct mapping *m)
{
	const struct stack_key key = {NODE_MAPPING,
				      {m->build_id, m->exact_offset, m->start_offset, m->start,
				       m->end, m->load_bias, m->name}};
	uint32_t row = m->start == m->end ? find(im, &key) : NULL_U32;

	if (row == NULL_U32) {
		row = new_mapping(im, m);
		if (m->start == m->end)
			add(im, &key, row);
	}
	return row;
}

static uint32_t interned_mapping(struct import *im, const struct owner *o, uint64_t iid)
{
	const struct stack_key key = interned_key(o, NODE_INTERNED_MAPPING, iid);
	uint32_t row = find(im, &key);
	struct mapping mapping;
	struct pb_field f;

	if (row != NULL_U32)
		return row;
	if (!interned(im, o, PB_INTERNED_DATA_MAPPINGS, iid, STAT_STACKPROFILE_INVALID_MAPPING_ID,
		      &f) ||
	    !read_mapping(im, o->m, o->state, &f, &mapping))
		return NULL_U32;
	return add(im, &key, mapping_row(im, &mapping));
}

/* ---- frames and call sites ---- */

static uint32_t frame_row(struct import *im, uint32_t mapping, uint64_t rel_pc, uint32_t name)
{
	const struct stack_key key = {NODE_FRAME, {mapping, rel_pc, name}};
	struct table *t = import_table(im, TABLE_STACK_FRAME);
	uint32_t row = find(im, &key);

	if (row != NULL_U32)
		return row;
	row = table_append(t);
	table_set_u32(t, STACK_FRAME_NAME, row, name);
	table_set_u32(t, STACK_FRAME_MAPPING, row, mapping);
	table_set_i64(t, STACK_FRAME_REL_PC, row, (int64_t)rel_pc);
	table_set_u32(t, STACK_FRAME_SYMBOL_SET, row, NULL_U32);
	table_set_u32(t, STACK_FRAME_DEOBFUSCATED, row, NULL_U32);
	return add(im, &key, row);
}

static uint32_t interned_frame(struct import *im, const struct owner *o, uint64_t iid)
{
	const struct stack_key key = interned_key(o, NODE_INTERNED_FRAME, iid);
	uint64_t name = 0, mapping = 0, rel_pc = 0;
	uint32_t row = find(im, &key), string = NULL_U32;
	struct pb_field message, f;
	struct pb_dec d;

	if (row != NULL_U32)
		return row;
	if (!interned(im, o, PB_INTERNED_DATA_FRAMES, iid, STAT_STACKPROFILE_INVALID_FRAME_ID,
		      &message))
		return NULL_U32;
	pb_dec_init(&d, message.data, message.len);
	while (pb_dec_next(&d, &f)) {
		if (f.id == PB_FRAME_FUNCTION_NAME_ID)
			name = f.u64;
		else if (f.id == PB_FRAME_MAPPING_ID)
			mapping = f.u64;
		else if (f.id == PB_FRAME_REL_PC)
			rel_pc = f.u64;
	}
	row = interned_mapping(im, o, mapping);
	if (row == NULL_U32)
		return NULL_U32;
	if (name) {
		string = sequences_string(&o->m->sequences, o->state,
					  PB_INTERNED_DATA_FUNCTION_NAMES, name);
		if (string == NULL_U32) {
			count_unknown_iid(im, STAT_STACKPROFILE_INVALID_STRING_ID);
			return NULL_U32;
		}
	}
	return add(im, &key, frame_row(im, row, rel_pc, string));
}

static uint32_t callsite_row(struct import *im, uint32_t parent, uint32_t frame, uint32_t depth)
{
	const struct stack_key key = {NODE_CALLSITE, {parent, frame}};
	struct table *t = import_table(im, TABLE_STACK_CALLSITE);
	uint32_t row = find(im, &key);

	if (row != NULL_U32)
		return row;
	row = table_append(t);
	table_set_u32(t, STACK_CALLSITE_DEPTH, row, depth);
	table_set_u32(t, STACK_CALLSITE_PARENT, row, parent);
	table_set_u32(t, STACK_CALLSITE_FRAME, row, frame);
	return add(im, &key, row);
}

/* Returns the innermost call site, or NULL_U32. */
static uint32_t interned_callstack(struct import *im, const struct owner *o, uint64_t iid)
{
	const struct stack_key key = interned_key(o, NODE_CALLSTACK, iid);
	uint32_t site = find(im, &key), depth = 0;
	struct pb_field message, f;
	struct pb_dec d;

	if (site != NULL_U32 || !interned(im, o, PB_INTERNED_DATA_CALLSTACKS, iid,
					  STAT_STACKPROFILE_INVALID_CALLSTACK_ID, &message))
		return site;
	pb_dec_init(&d, message.data, message.len);
	while (pb_dec_next(&d, &f)) {
		uint32_t frame;

		if (f.id != PB_CALLSTACK_FRAME_IDS || f.data)
			continue;
		frame = interned_frame(im, o, f.u64);
		if (frame == NULL_U32)
			return NULL_U32;
		site = callsite_row(im, site, frame, depth++);
	}
	if (site == NULL_U32)
		count(im, STAT_STACKPROFILE_EMPTY_CALLSTACK);
	else
		add(im, &key, site);
	return site;
}

/* ---- samples ---- */

struct sample {
	uint32_t cpu;
	int64_t pid, tid;
	uint64_t callstack, lost, mode, error, skipped;
	bool has_callstack, has_error;
	struct pb_field event; /* ProducerEvent */
};

static void read_sample(const struct pb_field *message, struct sample *s)
{
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, message->data, message->len);
	while (pb_dec_next(&d, &f)) {
		switch (f.id) {
		case PB_PERF_SAMPLE_CPU:
			s->cpu = (uint32_t)f.u64;
			break;
		case PB_PERF_SAMPLE_PID:
			s->pid = (uint32_t)f.u64;
			break;
		case PB_PERF_SAMPLE_TID:
			s->tid = (uint32_t)f.u64;
			break;
		case PB_PERF_SAMPLE_CALLSTACK_IID:
			s->callstack = f.u64;
			s->has_callstack = true;
			break;
		case PB_PERF_SAMPLE_CPU_MODE:
			s->mode = f.u64;
			break;
		case PB_PERF_SAMPLE_UNWIND_ERROR:
			s->error = f.u64;
			s->has_error = true;
			break;
		case PB_PERF_SAMPLE_KERNEL_RECORDS_LOST:
			s->lost = f.u64;
			break;
		case PB_PERF_SAMPLE_SAMPLE_SKIPPED_REASON:
			s->skipped = f.u64;
			break;
		case PB_PERF_SAMPLE_PRODUCER_EVENT:
			if (f.data)
				s->event = f;
			break;
		}
	}
}

static uint32_t text_of(struct import *im, const char *const *names, size_t n, uint64_t v)
{
	return strings_intern_z(&im->store->strings, v < n && names[v] ? names[v] : names[0]);
}

static void add_sample(struct import *im, struct machine *m, int64_t ts, uint32_t session,
		       uint32_t state, const struct sample *s)
{
	static const char *const modes[] = {"unknown",	  "kernel",	  "user",
					    "hypervisor", "guest_kernel", "guest_user"};
	static const char *const errors[] = {
		"unknown",     "none",	      "memory_invalid",	     "unwind_info",
		"unsupported", "invalid_map", "max_frames_exceeded", "repeated_frame",
		"invalid_elf", "system_call", "thread_timeout",	     "thread_does_not_exist",
		"bad_arch",    "maps_parse",  "invalid_parameter",   "ptrace_call"};
	uint32_t utid = tasks_thread_of(&m->tasks, s->tid, s->pid);
	const struct owner owner = {m, state, tasks_upid(&m->tasks, utid)};
	uint32_t site = s->has_callstack ? interned_callstack(im, &owner, s->callstack) : NULL_U32;
	struct table *t = import_table(im, TABLE_PERF_SAMPLE);
	uint32_t row = table_append(t);

	table_set_ts(t, PERF_SAMPLE_TS, row, ts);
	table_set_u32(t, PERF_SAMPLE_UTID, row, utid);
	table_set_u32(t, PERF_SAMPLE_CPU, row, s->cpu);
	table_set_u32(t, PERF_SAMPLE_CPU_MODE, row, text_of(im, modes, ARRAY_SIZE(modes), s->mode));
	table_set_u32(t, PERF_SAMPLE_CALLSITE, row, site);
	table_set_u32(t, PERF_SAMPLE_UNWIND_ERROR, row,
		      s->has_error && s->error != 1
			      ? text_of(im, errors, ARRAY_SIZE(errors), s->error)
			      : NULL_U32);
	table_set_u32(t, PERF_SAMPLE_SESSION, row, session);
	import_note_ts(im, ts);
}

/* Values of PerfSample.SampleSkipReason and of ProducerEvent.DataSourceStopReason. */
enum { SKIP_READ = 1, SKIP_UNWIND = 2, SKIP_QUEUE_FULL = 3, STOP_GUARDRAIL = 1 };

/* Counts a sample without a call stack. Its counters and its thread are known. */
static void count_skipped(struct import *im, uint64_t reason)
{
	if (reason == SKIP_READ || reason == SKIP_UNWIND)
		count(im, STAT_PERF_SAMPLES_SKIPPED);
	else if (reason == SKIP_QUEUE_FULL)
		count(im, STAT_PERF_SAMPLES_SKIPPED_DATALOSS);
}

static bool is_guardrail(const struct pb_field *event)
{
	struct pb_field f;
	struct pb_dec d;
	bool is = false;

	pb_dec_init(&d, event->data, event->len);
	while (pb_dec_next(&d, &f))
		if (f.id == PB_PERF_SAMPLE_PRODUCER_EVENT_SOURCE_STOP_REASON)
			is = f.u64 == STOP_GUARDRAIL;
	return is;
}

void rows_perf_sample(struct import *im, struct machine *m, int64_t ts, const struct packet *p,
		      uint32_t state)
{
	const struct perf_stream *stream;
	struct sample s = {0};

	read_sample(&p->payload, &s);
	if (state == NULL_U32 || s.cpu >= MAX_CPUS)
		return;
	stream = perf_stream_get(im, m, state, p->sequence, s.cpu);
	if (!stream)
		return;
	if (s.lost) {
		stats_add(im->store, STAT_PERF_CPU_LOST_RECORDS, s.cpu, (int64_t)s.lost);
	} else if (s.event.id) {
		if (is_guardrail(&s.event))
			stats_set(im->store, STAT_PERF_GUARDRAIL_STOP_TS, stream->session, ts);
	} else {
		count_skipped(im, s.skipped);
		perf_stream_counts(im, stream, ts, &p->payload);
		add_sample(im, m, ts, stream->session, state, &s);
	}
}
