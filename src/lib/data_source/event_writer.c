/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/data_source/event_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/public.h"

static unsigned event_writer_slot_index(const struct instance *in)
{
	return in->source->index * SONDA_MAX_INSTANCES + in->slot;
}

/* Adds the dropped packets of w to the sum of the data source. */
static void add_dropped_to_source(struct sonda_writer *w)
{
	uint64_t dropped = writer_dropped(w->w);

	if (dropped == w->dropped)
		return;
	atomic_fetch_add_explicit(&w->instance->source->dropped, dropped - w->dropped,
				  memory_order_relaxed);
	w->dropped = dropped;
}

static void count_dropped(struct source *s)
{
	atomic_fetch_add_explicit(&s->dropped, 1, memory_order_relaxed);
}

/* ---- a thread's writers ---- */

/* Frees the writer in a slot, if any, and the thread's state. Adds its counts to those of the
 * instance and the data source. */
static void free_slot(struct thread *t, unsigned slot)
{
	struct sonda_writer *w = t->slots[slot];
	struct source *s;

	if (!w)
		return;
	t->slots[slot] = NULL;
	if (writer_is_open(w->w))
		sonda_packet_end(w); /* the thread has ended inside a packet */
	s = w->instance->source;
	add_dropped_to_source(w);
	if (s->thread_state_size && s->callbacks.on_thread_state_free)
		s->callbacks.on_thread_state_free(s->ctx, w->state);
	atomic_fetch_add_explicit(&w->instance->written, writer_packets(w->w),
				  memory_order_relaxed);
	atomic_fetch_add_explicit(&w->instance->unreported, writer_free(w->w),
				  memory_order_relaxed);
	free(w);
}

void event_writer_free(struct thread *t, struct instance *in)
{
	if (event_writer_slot_index(in) < t->n_slots)
		free_slot(t, event_writer_slot_index(in));
}

void event_writer_flush(struct thread *t, struct instance *in)
{
	unsigned slot = event_writer_slot_index(in);

	if (slot < t->n_slots && t->slots[slot])
		writer_flush(t->slots[slot]->w);
}

void event_writers_free(struct thread *t)
{
	for (unsigned i = 0; i < t->n_slots; i++)
		free_slot(t, i);
}

static int reserve_slot(struct thread *t, unsigned slot)
{
	unsigned n = (slot / SONDA_MAX_INSTANCES + 1) * SONDA_MAX_INSTANCES;
	struct sonda_writer **slots;

	if (slot < t->n_slots)
		return 0;
	slots = realloc(t->slots, n * sizeof(struct sonda_writer *));
	if (!slots)
		return -ENOMEM;
	memset(slots + t->n_slots, 0, (n - t->n_slots) * sizeof(struct sonda_writer *));
	t->slots = slots;
	t->n_slots = n;
	return 0;
}

/* Makes the thread's writer for this instance. The thread is inside. Returns NULL if the thread is
 * ending, or if memory or writer ids run out. */
static struct sonda_writer *event_writer_make(struct thread *t, struct instance *in)
{
	struct sonda_writer *w;

	if (t->exits || reserve_slot(t, event_writer_slot_index(in)) < 0)
		return NULL;
	w = calloc(1, sizeof(*w) + in->source->thread_state_size);
	if (!w)
		return NULL;
	w->w = writer_new(in->host->arbiter, in->target_buffer,
			  in->stalls ? WRITER_STALL : WRITER_DROP);
	if (!w->w) {
		free(w);
		return NULL;
	}
	w->thread = t;
	w->instance = in;
	w->clears = atomic_load_explicit(&in->clears, memory_order_relaxed);
	w->cleared = true;
	t->slots[event_writer_slot_index(in)] = w;
	return w;
}

static struct sonda_writer *find_or_make_writer(struct thread *t, struct instance *in)
{
	unsigned slot = event_writer_slot_index(in);

	if (slot < t->n_slots && t->slots[slot])
		return t->slots[slot];
	return event_writer_make(t, in);
}

/* Call after packets were dropped: adds them to the sum of the data source, and takes a chunk.
 * Returns false if there is still no room. */
static bool recover_writer(struct sonda_writer *w)
{
	bool good = writer_recover(w->w);

	w->lost = true;
	add_dropped_to_source(w);
	return good;
}

/* ---- public ---- */

SONDA_PUBLIC struct sonda_writer *sonda_writer_enter(struct sonda_data_source *ds,
						     unsigned instance)
{
	struct thread *t = thread_enter();
	struct sonda_writer *w;
	struct source *s;

	/* Read the bit again, with acquire: the instance cannot end while the thread is inside. */
	if (!(__atomic_load_n(&ds->enabled, __ATOMIC_ACQUIRE) >> instance & 1)) {
		if (t)
			thread_leave(t);
		return NULL;
	}
	if (!t) {
		if (thread_self_) /* the thread was inside already, so the source stays valid */
			count_dropped((struct source *)ds->source);
		return NULL;
	}
	s = (struct source *)ds->source;
	w = find_or_make_writer(t, &s->instances[instance]);
	if (!w) {
		count_dropped(s);
	} else if (__builtin_expect(writer_has_lost(w->w), 0) && !recover_writer(w)) {
		w = NULL;
	}
	if (!w)
		thread_leave(t);
	return w;
}

SONDA_PUBLIC void sonda_writer_leave(struct sonda_writer *w)
{
	struct thread *t = w->thread;

	if (__builtin_expect(writer_dropped(w->w) != w->dropped, 0)) {
		w->lost = true;
		add_dropped_to_source(w);
	}
	thread_leave(t);
}

SONDA_PUBLIC struct sonda_packet *sonda_packet_begin(struct sonda_writer *w)
{
	w->packet.enc = writer_begin(w->w);
	w->packet.left_out = 0;
	return &w->packet;
}

struct sonda_packet *packet_begin_small(struct sonda_writer *w)
{
	struct pb_enc *e = writer_begin_small(w->w);

	if (!e)
		return NULL;
	w->packet.enc = e;
	w->packet.left_out = 0;
	return &w->packet;
}

SONDA_PUBLIC void sonda_packet_end(struct sonda_writer *w)
{
	while (__builtin_expect(w->packet.left_out > 0 || w->packet.enc->depth > 0, 0))
		sonda_packet_close(&w->packet);
	writer_end(w->w);
}

SONDA_PUBLIC bool sonda_writer_was_cleared(struct sonda_writer *w)
{
	uint32_t clears = atomic_load_explicit(&w->instance->clears, memory_order_relaxed);
	bool cleared = w->cleared || w->lost || clears != w->clears;

	if (__builtin_expect(cleared, 0)) {
		w->cleared = w->lost = false;
		w->clears = clears;
	}
	return cleared;
}

SONDA_PUBLIC void *sonda_writer_state(struct sonda_writer *w)
{
	return w->instance->source->thread_state_size ? w->state : NULL;
}

SONDA_PUBLIC void *sonda_writer_instance(struct sonda_writer *w)
{
	return w->instance->user->object;
}

SONDA_PUBLIC void sonda_writer_flush(struct sonda_writer *w)
{
	writer_flush(w->w);
}
