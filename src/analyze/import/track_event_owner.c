/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the track, the thread and the process of a track event. An event with a uuid belongs to the
 * track that a descriptor describes. Events of older programs have no uuid, and belong to the thread
 * of their sequence, or to the thread that they name (LegacyEvent.pid_override, tid_override).
 */
#include <string.h>

#include "analyze/import/track_event.h"
#include "analyze/import/tracks.h"

/* The tid of an event that names only a process. */
#define NO_TID (-1)

/* Sets the thread and process of an event without a uuid. Returns false for the numbers of the idle
 * thread. */
static bool set_thread_of_event(struct machine *m, struct track_event *e)
{
	const struct sequence_thread *t = &sequences_state(&m->sequences, e->state)->thread;
	const struct legacy_event *l = &e->legacy;
	int64_t pid = l->has_pid ? l->pid : t->pid;
	int64_t tid = l->has_tid ? l->tid : l->has_pid ? NO_TID : t->tid;

	e->on_thread = true;
	if (!pid || !tid)
		return false;
	e->utid = tasks_get_thread_of_process(&m->tasks, tid, pid);
	e->upid = tasks_upid(&m->tasks, e->utid);
	return true;
}

/* Sets the track, thread and process of an event with a uuid, which is not 0. */
static bool set_track_of_event(struct import *im, struct machine *m, struct track_event *e)
{
	const struct sequence_thread *t = &sequences_state(&m->sequences, e->state)->thread;
	struct described_track *d = described_get_for_event(im, m, e->track, e->seq);
	uint32_t writer;

	if (!d)
		return false;
	e->described = d;
	if (d->owner == OWNER_THREAD) {
		e->utid = d->owner_id;
		e->upid = tasks_upid(&m->tasks, e->utid);
		return true;
	}
	if (d->owner == OWNER_PROCESS)
		e->upid = d->owner_id;
	if (!t->known)
		return true;
	writer = tasks_get_thread_of_process(&m->tasks, t->tid, t->pid);
	if (d->owner == OWNER_NONE || tasks_upid(&m->tasks, writer) == d->owner_id)
		e->writer = writer;
	return true;
}

bool track_event_find_owner(struct import *im, struct machine *m, struct track_event *e)
{
	const struct sequence_thread *t = &sequences_state(&m->sequences, e->state)->thread;
	const struct legacy_event *l = &e->legacy;

	e->utid = e->upid = e->writer = NULL_U32;
	if (e->track) {
		if (!set_track_of_event(im, m, e))
			return false;
	} else if (l->has_pid || (t->known && (!e->names_track || !e->has_type || l->has_tid))) {
		if (!set_thread_of_event(m, e))
			return false;
	}
	if (!l->has_phase || (l->phase != 'i' && l->phase != 'I'))
		return true;
	if (!legacy_event_is_scoped(l))
		return e->utid != NULL_U32;
	e->writer = e->utid;
	e->utid = NULL_U32;
	return e->upid != NULL_U32 || !legacy_event_is_of_process(l);
}

uint32_t track_event_track_row(struct import *im, struct machine *m, struct track_event *e,
			       enum slice_step step)
{
	uint32_t row;

	if (e->on_thread && !legacy_event_is_scoped(&e->legacy))
		return tracks_get_thread_track(im, m, e->utid);
	if (!e->on_thread) {
		struct described_track *d =
			e->described ? e->described : described_get_for_event(im, m, 0, NULL);

		row = d ? described_slice_row(im, m, d, e->name, step) : NULL_U32;
		if (!legacy_event_is_scoped(&e->legacy))
			return row;
	}
	return legacy_event_track_row(im, m, e);
}
