/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TrackDescriptor, ThreadDescriptor, ProcessDescriptor: what programs say about their tracks and
 * themselves.
 */
#include <errno.h>
#include <string.h>

#include "analyze/import/described_tracks.h"
#include "analyze/import/import_steps.h"
#include "base/core/mem.h"
#include "gen/fields.h"

/* Values of TrackDescriptor.ChildTracksOrdering, CounterDescriptor.Unit, SiblingMergeBehavior. */
static const char *const orderings[] = {NULL, "lexicographic", "chronological", "explicit"};
static const char *const units[] = {NULL, "ns", "count", "bytes"};
#define MERGE_NONE_VALUE 2
#define MERGE_KEY_VALUE 3
#define ORDERING_EXPLICIT 1 /* ProcessOrdering, ThreadOrdering */

static void track_descriptors_count_stat(struct import *im, enum stat_number stat)
{
	stats_add(im->store, stat, STAT_NO_INDEX, 1);
}

static uint32_t track_descriptors_intern_text(struct import *im, const struct pb_field *f)
{
	return strings_intern(&im->store->strings, f->data, f->data ? f->len : 0);
}

/* ---- the file's order ---- */

struct task_numbers {
	int64_t pid, tid;
	bool has_pid, has_tid;
};

/* ThreadDescriptor and ProcessDescriptor have the pid in field 1, the former the tid in field 2. */
static struct task_numbers read_task_numbers(const struct pb_field *message)
{
	struct task_numbers n = {.pid = 0};

	pb_for_each (f, message) {
		if (f.data)
			continue;
		if (f.id == PB_THREAD_DESCRIPTOR_PID) {
			n.pid = (int32_t)f.u64;
			n.has_pid = true;
		} else if (f.id == PB_THREAD_DESCRIPTOR_TID) {
			n.tid = (int64_t)f.u64;
			n.has_tid = true;
		}
	}
	return n;
}

static void read_counter(struct import *im, const struct pb_field *message,
			 struct described_counter *c)
{
	struct strings *s = &im->store->strings;
	struct strbuf categories = {0};

	pb_for_each (f, message)
		switch (f.id) {
		case PB_COUNTER_DESCRIPTOR_TYPE:
			c->builtin = f.u64 <= BUILTIN_THREAD_INSTRUCTIONS
					     ? (enum builtin_counter)f.u64
					     : BUILTIN_NONE;
			break;
		case PB_COUNTER_DESCRIPTOR_CATEGORIES:
			strbuf_printf(&categories, "%s", categories.len ? "," : "");
			if (f.data)
				strbuf_add(&categories, f.data, f.len);
			break;
		case PB_COUNTER_DESCRIPTOR_UNIT:
			if (f.u64 && f.u64 < ARRAY_SIZE(units))
				c->unit = strings_intern_z(s, units[f.u64]);
			break;
		case PB_COUNTER_DESCRIPTOR_UNIT_NAME:
			if (c->unit == NULL_U32)
				c->unit = track_descriptors_intern_text(im, &f);
			break;
		case PB_COUNTER_DESCRIPTOR_UNIT_MULTIPLIER:
			if ((int64_t)f.u64 > 0)
				c->multiplier = (int64_t)f.u64;
			break;
		case PB_COUNTER_DESCRIPTOR_IS_INCREMENTAL:
			c->incremental = f.u64;
			break;
		case PB_COUNTER_DESCRIPTOR_Y_AXIS_SHARE_KEY:
			c->share_key = track_descriptors_intern_text(im, &f);
			break;
		}
	if (categories.len)
		c->categories = strings_intern_buf(s, &categories);
	strbuf_deinit(&categories);
}

static void set_described_thread(struct described_track *d, const struct task_numbers *n)
{
	d->kind = DESCRIBED_THREAD;
	d->pid = n->pid;
	d->tid = n->tid;
}

/* Reads one field of a descriptor. Returns false, and counts it, for a thread or process without a
 * tid or pid. */
static bool read_descriptor_field(struct import *im, struct described_track *d,
				  const struct pb_field *f)
{
	struct task_numbers n;

	switch (f->id) {
	case PB_TRACK_DESCRIPTOR_UUID:
		d->key.uuid = f->u64;
		break;
	case PB_TRACK_DESCRIPTOR_PARENT_UUID:
		d->parent = f->u64;
		break;
	case PB_TRACK_DESCRIPTOR_NAME:
	case PB_TRACK_DESCRIPTOR_STATIC_NAME:
	case PB_TRACK_DESCRIPTOR_ATRACE_NAME:
		d->name = track_descriptors_intern_text(im, f);
		break;
	case PB_TRACK_DESCRIPTOR_DESCRIPTION:
		d->description = track_descriptors_intern_text(im, f);
		break;
	case PB_TRACK_DESCRIPTOR_THREAD:
		n = read_task_numbers(f);
		if (!n.has_pid || !n.has_tid) {
			track_descriptors_count_stat(im,
						     STAT_TRACK_DESCRIPTOR_THREAD_MISSING_PID_TID);
			return false;
		}
		set_described_thread(d, &n);
		break;
	case PB_TRACK_DESCRIPTOR_PROCESS:
		n = read_task_numbers(f);
		if (!n.has_pid) {
			track_descriptors_count_stat(im, STAT_TRACK_DESCRIPTOR_PROCESS_MISSING_PID);
			return false;
		}
		if (d->kind == DESCRIBED_THREAD)
			break;
		d->kind = DESCRIBED_PROCESS;
		d->pid = n.pid;
		break;
	case PB_TRACK_DESCRIPTOR_COUNTER:
		if (d->kind == DESCRIBED_PLAIN)
			d->kind = DESCRIBED_COUNTER;
		read_counter(im, f, &d->counter);
		break;
	case PB_TRACK_DESCRIPTOR_STATE:
		if (d->kind == DESCRIBED_PLAIN)
			d->kind = DESCRIBED_STATE;
		break;
	case PB_TRACK_DESCRIPTOR_DISALLOW_MERGING_WITH_SYSTEM_TRACKS:
		d->own_track = f->u64;
		break;
	case PB_TRACK_DESCRIPTOR_CHILD_ORDERING:
		if (f->u64 && f->u64 < ARRAY_SIZE(orderings))
			d->ordering = strings_intern_z(&im->store->strings, orderings[f->u64]);
		break;
	case PB_TRACK_DESCRIPTOR_SIBLING_ORDER_RANK:
		d->rank = (int32_t)f->u64;
		d->has_rank = true;
		break;
	case PB_TRACK_DESCRIPTOR_PROCESS_ORDERING:
		d->ranks_processes = f->u64 == ORDERING_EXPLICIT;
		break;
	case PB_TRACK_DESCRIPTOR_THREAD_ORDERING:
		d->ranks_threads = f->u64 == ORDERING_EXPLICIT;
		break;
	case PB_TRACK_DESCRIPTOR_SIBLING_MERGE_BEHAVIOR:
		d->merge = f->u64 == MERGE_NONE_VALUE  ? MERGE_NEVER
			   : f->u64 == MERGE_KEY_VALUE ? MERGE_BY_KEY
						       : MERGE_BY_NAME;
		break;
	case PB_TRACK_DESCRIPTOR_SIBLING_MERGE_KEY:
		d->merge_key = track_descriptors_intern_text(im, f);
		break;
	case PB_TRACK_DESCRIPTOR_SIBLING_MERGE_KEY_INT:
		d->merge_key = strings_intern_f(&im->store->strings, "sibling_merge_key_int:%llu",
						(unsigned long long)f->u64);
		break;
	}
	return true;
}

static bool is_same_description(const struct described_track *a, const struct described_track *b)
{
	return a->parent == b->parent && a->kind == b->kind && a->pid == b->pid &&
	       a->tid == b->tid && a->merge == b->merge && a->merge_key == b->merge_key &&
	       a->own_track == b->own_track && a->counter.multiplier == b->counter.multiplier &&
	       a->counter.incremental == b->counter.incremental &&
	       a->counter.unit == b->counter.unit && a->counter.builtin == b->counter.builtin &&
	       a->counter.categories == b->counter.categories &&
	       a->counter.share_key == b->counter.share_key;
}

/* Adds a track. If it was described before, its new name and ranks are added to it, or the
 * descriptor is counted as a conflict. */
static void add_or_merge_track(struct import *im, struct machine *m,
			       const struct described_track *new)
{
	struct described_track *old = described_find(im, m, new->key.uuid);

	if (!old) {
		described_add(im, new);
		return;
	}
	if (!is_same_description(old, new)) {
		track_descriptors_count_stat(im, STAT_TRACK_DESCRIPTOR_CONFLICTING_RESERVATION);
		return;
	}
	old->ranks_processes |= new->ranks_processes;
	old->ranks_threads |= new->ranks_threads;
	if (new->name != NULL_U32 && (old->name == NULL_U32 || old->merge == MERGE_NEVER))
		old->name = new->name;
}

/* Sets what later events of the sequence refer to. message: a ThreadDescriptor. */
static void set_sequence_thread(struct machine *m, struct packet_sequence_info *seq, int64_t writer,
				const struct pb_field *message)
{
	struct sequence_thread *t = &sequences_state(&m->sequences, seq->state)->thread;
	struct task_numbers n = read_task_numbers(message);

	*t = (struct sequence_thread){
		.known = true, .has_time = true, .pid = n.pid, .tid = n.tid, .writer = writer};
	pb_for_each (part, message) {
		if (part.id == PB_THREAD_DESCRIPTOR_REFERENCE_TIMESTAMP_US)
			t->ns = (int64_t)(part.u64 * 1000);
		else if (part.id == PB_THREAD_DESCRIPTOR_REFERENCE_THREAD_TIME_US)
			t->thread_ns = (int64_t)(part.u64 * 1000);
		else if (part.id == PB_THREAD_DESCRIPTOR_REFERENCE_THREAD_INSTRUCTION_COUNT)
			t->instructions = (int64_t)part.u64;
	}
}

void tokenize_track_descriptor(struct import *im, struct machine *m, const struct packet *p,
			       struct packet_sequence_info *seq)
{
	struct described_track d = {
		.key.machine = m->row,
		.writer = p->pid,
		.counter = {.multiplier = 1,
			    .unit = NULL_U32,
			    .categories = NULL_U32,
			    .share_key = NULL_U32},
		.merge_key = NULL_U32,
		.name = NULL_U32,
		.description = NULL_U32,
		.ordering = NULL_U32,
		.has_first = seq && seq->has_first_packet,
		.first = true,
		.track = NULL_U32,
	};
	bool has_uuid = false, good = true;
	struct pb_field thread = {.id = 0};

	pb_for_each (part, &p->payload) {
		bool is_message = part.id == PB_TRACK_DESCRIPTOR_THREAD ||
				  part.id == PB_TRACK_DESCRIPTOR_PROCESS ||
				  part.id == PB_TRACK_DESCRIPTOR_COUNTER ||
				  part.id == PB_TRACK_DESCRIPTOR_STATE;

		has_uuid |= part.id == PB_TRACK_DESCRIPTOR_UUID;
		if (part.id == PB_TRACK_DESCRIPTOR_THREAD && part.data)
			thread = part;
		if (!is_message || part.data)
			good = read_descriptor_field(im, &d, &part) && good;
	}
	if (!has_uuid)
		track_descriptors_count_stat(im, STAT_TRACK_DESCRIPTOR_MISSING_UUID);
	else if (!d.key.uuid && d.parent)
		track_descriptors_count_stat(im, STAT_TRACK_DESCRIPTOR_DEFAULT_TRACK_WITH_PARENT);
	else if (good)
		add_or_merge_track(im, m, &d);
	if (good && d.kind == DESCRIBED_THREAD && seq && seq->valid)
		set_sequence_thread(m, seq, p->pid, &thread);
}

bool tokenize_thread_descriptor(struct import *im, struct machine *m, const struct packet *p,
				struct packet_sequence_info *seq)
{
	if (!seq || !seq->valid) {
		track_descriptors_count_stat(
			im, seq ? STAT_THREAD_DESCRIPTOR_SKIPPED_INCREMENTAL_STATE_INVALID
				: STAT_THREAD_DESCRIPTOR_MISSING_SEQUENCE_ID);
		return false;
	}
	set_sequence_thread(m, seq, p->pid, &p->payload);
	return true;
}

/* ---- the order of time ---- */

uint32_t import_thread_descriptor(struct import *im, struct machine *m, int64_t writer,
				  const struct pb_field *f)
{
	struct task_numbers n = read_task_numbers(f);
	uint32_t utid;

	import_translate_ids(im, m, writer, &n.pid, &n.tid);
	utid = tasks_get_thread_of_process(&m->tasks, n.tid, n.pid);
	pb_for_each (part, f)
		if (part.id == PB_THREAD_DESCRIPTOR_THREAD_NAME && part.data && part.len)
			tasks_name_thread(&m->tasks, utid, track_descriptors_intern_text(im, &part),
					  THREAD_BY_DESCRIPTOR);
		else if (part.id == PB_THREAD_DESCRIPTOR_LEGACY_SORT_INDEX)
			im->infos.threads[utid].rank = (int32_t)part.u64;
	return utid;
}

/* Keeps a label, which becomes an argument of the process at the end. */
static void add_process_label(struct import *im, uint32_t upid, unsigned n,
			      const struct pb_field *f)
{
	struct process_label label = {.upid = upid,
				      .index = n,
				      .text = track_descriptors_intern_text(im, f),
				      .order = im->n_labels};

	if (!budget_charge(&im->store->budget, sizeof(label)))
		return;
	if (array_reserve(&im->labels, &im->cap_labels, im->n_labels + 1, sizeof(label))) {
		im->store->budget.error = -ENOMEM;
		return;
	}
	im->labels[im->n_labels++] = label;
}

uint32_t import_process_descriptor(struct import *im, struct machine *m, int64_t writer,
				   const struct pb_field *f)
{
	struct task_numbers n = read_task_numbers(f);
	struct table *t = import_table(im, TABLE_PROCESS);
	unsigned labels = 0;
	uint32_t upid;

	import_translate_ids(im, m, writer, &n.pid, &n.tid);
	upid = tasks_get_process(&m->tasks, n.pid);
	pb_for_each (part, f) {
		if (part.id == PB_PROCESS_DESCRIPTOR_PROCESS_NAME && part.data && part.len)
			tasks_name_process(&m->tasks, upid,
					   track_descriptors_intern_text(im, &part),
					   PROCESS_BY_DESCRIPTOR);
		else if (part.id == PB_PROCESS_DESCRIPTOR_START_TIMESTAMP_NS && part.u64 &&
			 table_i64(t, PROCESS_START_TS, upid) == NULL_I64)
			table_set_i64(t, PROCESS_START_TS, upid, (int64_t)part.u64);
		else if (part.id == PB_PROCESS_DESCRIPTOR_PROCESS_LABELS && part.data)
			add_process_label(im, upid, labels++, &part);
		else if (part.id == PB_PROCESS_DESCRIPTOR_LEGACY_SORT_INDEX)
			im->infos.processes[upid].rank = (int32_t)part.u64;
	}
	return upid;
}

void import_track_descriptor(struct import *im, struct machine *m, const struct packet *p)
{
	const struct described_track *track, *root = described_find(im, m, 0);
	struct pb_field thread = {.id = 0}, process = {.id = 0};
	uint64_t uuid = 0;
	uint32_t id;

	pb_read(&p->payload, PB_TO(PB_TRACK_DESCRIPTOR_UUID, &uuid),
		PB_TO(PB_TRACK_DESCRIPTOR_THREAD, &thread),
		PB_TO(PB_TRACK_DESCRIPTOR_PROCESS, &process));
	track = described_find(im, m, uuid);
	if (!track) /* tokenize_track_descriptor() refused it */
		return;
	if (!described_get_for_event(im, m, uuid, NULL)) {
		track_descriptors_count_stat(im, STAT_TRACK_EVENT_PARSER_ERRORS);
		return;
	}
	if (thread.id) {
		id = import_thread_descriptor(im, m, p->pid, &thread);
		if (root && root->ranks_threads && track->has_rank)
			im->infos.threads[id].rank = track->rank;
	} else if (process.id) {
		id = import_process_descriptor(im, m, p->pid, &process);
		if (root && root->ranks_processes && track->has_rank)
			im->infos.processes[id].rank = track->rank;
	}
}
