/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event is written into each instance that records its category, on the caller's thread:
 *
 *	sonda_event -> scan -> for each instance: enter
 *	                           reset       if the incremental state is gone
 *	                           describe    if the track is new to the sequence
 *	                           encode      the event's packet
 *	                           leave
 */
#include "base/core/clock.h"
#include "lib/public.h"
#include "lib/track_event/event.h"
#include "lib/track_event/track_descriptor.h"
#include "lib/track_event/track_event_source.h"

static const struct sonda_arg no_args = {.type = SONDA_ARG_LIST_END};

/* An event without static categories is recorded if one of its dynamic categories is enabled, or it
 * has none. */
static bool is_enabled(const struct event *ev, struct event_sequence *s,
		       const struct event_config *c)
{
	if (ev->category->n_names > 0 || !(ev->parts & EVENT_CATEGORIES))
		return true;
	for (const struct sonda_arg *a = ev->args; a->type != SONDA_ARG_LIST_END; a++)
		if (a->type == SONDA_ARG_CATEGORY && a->value.p &&
		    event_sequence_enables(s, c, a->value.p))
			return true;
	return false;
}

static void describe_tracks(const struct event *ev, struct event_sequence *s,
			    struct sonda_writer *w, const struct event_config *c)
{
	if (ev->track)
		event_sequence_describe(s, w, c, ev->track, ev->track_uuid, ev->now_ns);
	if (!(ev->parts & EVENT_EXTRA_COUNTERS))
		return;
	for (const struct sonda_arg *a = ev->args; a->type != SONDA_ARG_LIST_END; a++)
		if (a->type == SONDA_ARG_EXTRA_INT || a->type == SONDA_ARG_EXTRA_DOUBLE)
			event_sequence_describe(s, w, c, a->key.track, track_uuid(a->key.track),
						ev->now_ns);
}

static void write_to_instance(const struct event *ev, unsigned instance)
{
	struct sonda_writer *w = sonda_writer_enter(&track_event_source, instance);
	const struct event_config *c;
	struct event_sequence *s;

	if (!w)
		return;
	s = sonda_writer_state(w);
	c = sonda_writer_instance(w);
	if (is_enabled(ev, s, c)) {
		if (__builtin_expect(sonda_writer_was_cleared(w) || s->overflow, 0))
			event_sequence_reset(s, w, c, ev->now_ns);
		if (ev->parts & (EVENT_TRACK | EVENT_EXTRA_COUNTERS))
			describe_tracks(ev, s, w, c);
		event_encode(ev, s, w, c);
	}
	sonda_writer_leave(w);
}

/* One of the names is NULL. */
static void track_event_write_event(struct sonda_category *category, enum sonda_event_type type,
				    struct sonda_string *name, const char *dynamic_name,
				    const struct sonda_arg *args)
{
	struct event ev; /* event_scan() sets the rest */

	ev.category = category;
	ev.type = (uint8_t)type;
	ev.name = name;
	ev.dynamic_name = dynamic_name;
	ev.args = args ? args : &no_args;
	event_scan(&ev);
	ev.now_ns = clock_boot_ns();
	for (unsigned left = sonda_category_enabled(category); left; left &= left - 1)
		write_to_instance(&ev, (unsigned)__builtin_ctz(left));
}

SONDA_PUBLIC void sonda_event(struct sonda_category *category, enum sonda_event_type type,
			      struct sonda_string *name, const struct sonda_arg *args)
{
	track_event_write_event(category, type, name, NULL, args);
}

SONDA_PUBLIC void sonda_event_dynamic(struct sonda_category *category, enum sonda_event_type type,
				      const char *name, const struct sonda_arg *args)
{
	track_event_write_event(category, type, NULL, name, args);
}
