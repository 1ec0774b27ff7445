/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/track_event/track_event.h"

#include <errno.h>
#include <pthread.h>
#include <sonda/sonda.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "gen/fields.h"
#include "lib/data_source/startup.h"
#include "lib/public.h"
#include "lib/track_event/category.h"
#include "lib/track_event/event.h"
#include "lib/track_event/event_config.h"
#include "lib/track_event/event_sequence.h"
#include "lib/track_event/string_ids.h"
#include "lib/track_event/track_descriptor.h"
#include "wire/pb_enc.h"

static struct sonda_data_source track_event_source = SONDA_DATA_SOURCE_INIT;

/* ---- instances; the object of each is its config ---- */

static int on_setup(void *ctx, const struct sonda_setup *setup, void **ret_instance)
{
	struct event_config *config;
	int r = event_config_new(setup->config, setup->config_len, &config);

	if (r < 0)
		return r;
	config->instance = setup->instance;
	*ret_instance = config;
	return 0;
}

static void on_start(void *ctx, void *instance)
{
	const struct event_config *config = instance;

	categories_start(config->instance, config);
}

static void on_stop(void *ctx, void *instance, struct sonda_answer *answer)
{
	const struct event_config *config = instance;

	categories_stop(config->instance);
}

static void on_destroy(void *ctx, void *instance)
{
	event_config_free(instance);
}

static void on_thread_state_free(void *ctx, void *state)
{
	event_sequence_deinit(state);
}

static const struct sonda_data_source_callbacks callbacks = {
	.on_setup = on_setup,
	.on_start = on_start,
	.on_stop = on_stop,
	.on_destroy = on_destroy,
	.on_thread_state_free = on_thread_state_free,
};

/* ---- the descriptor ---- */

/* Held during a registration or update, so that the last one has the newest list. */
static pthread_mutex_t publish_lock = PTHREAD_MUTEX_INITIALIZER;
static bool registered;

static int register_source(const void *descriptor, size_t len)
{
	const struct sonda_data_source_options options = {
		.size = sizeof(options),
		.name = "track_event",
		.callbacks = &callbacks,
		.thread_state_size = sizeof(struct event_sequence),
		.handles_incremental_state_clear = true,
		.descriptor = descriptor,
		.descriptor_len = len,
	};
	int r;

	process_identity_read();
	r = sonda_data_source_register(&track_event_source, &options);
	registered = r == 0;
	return r;
}

/* Registers the source, or (register_it false) updates it if it is registered. Returns 0 or
 * -errno. */
static int publish_source(bool register_it)
{
	struct pb_mem m;
	int r = pb_mem_init(&m);

	if (r < 0)
		return r;
	pthread_mutex_lock(&publish_lock);
	pb_enc_open(&m.enc, PB_DATA_SOURCE_DESCRIPTOR_TRACK_EVENT_DESCRIPTOR);
	categories_describe(&m.enc);
	pb_enc_close(&m.enc);
	if (m.failed)
		r = -ENOMEM;
	else if (registered && !register_it)
		r = sonda_data_source_update(&track_event_source, m.buf, pb_mem_len(&m));
	else if (!registered && register_it)
		r = register_source(m.buf, pb_mem_len(&m));
	pthread_mutex_unlock(&publish_lock);
	pb_mem_deinit(&m);
	return r;
}

/* If there is no memory, the service keeps the old list. Sessions record new categories anyway. */
static void update_source(void)
{
	(void)publish_source(false);
}

int track_event_init(void)
{
	/* Set it first, so that a category added during the registration updates the source. */
	atomic_store_explicit(&categories_on_change, update_source, memory_order_release);
	return publish_source(true);
}

/* ---- startup tracing ---- */

/* Returns true if a session may get the startup events. They are not filtered, so a session with a
 * filter may not. */
static bool may_take_over_startup(unsigned instance, const void *object)
{
	const struct event_config *config = object;

	return !config->filter_debug_annotations && !config->filter_dynamic_event_names &&
	       categories_covered(instance, config);
}

static void put_startup_config(struct pb_enc *e, const char *categories)
{
	pb_enc_str(e, PB_DATA_SOURCE_CONFIG_NAME, "track_event");
	pb_enc_open(e, PB_DATA_SOURCE_CONFIG_TRACK_EVENT_CONFIG);
	pb_enc_str(e, PB_TRACK_EVENT_CONFIG_DISABLED_CATEGORIES, "*");
	while (*categories) {
		size_t n = strcspn(categories, ",");

		pb_enc_bytes(e, PB_TRACK_EVENT_CONFIG_ENABLED_CATEGORIES, categories, n);
		categories += n + (categories[n] == ',');
	}
	pb_enc_close(e);
}

int track_event_begin_startup(const char *categories, unsigned ms,
			      void (*trouble)(const char *sentence))
{
	struct startup_options o = {.source = "track_event",
				    .ms = ms,
				    .may_take_over = may_take_over_startup,
				    .trouble = trouble};
	struct pb_mem m;
	int r = pb_mem_init(&m);

	if (r < 0)
		return r;
	put_startup_config(&m.enc, categories);
	o.config = m.buf;
	o.config_len = pb_mem_len(&m);
	r = m.failed ? -ENOMEM : startup_begin(&o);
	pb_mem_deinit(&m);
	return r;
}

SONDA_PUBLIC uint64_t sonda_track_events_dropped(void)
{
	return sonda_data_source_dropped(&track_event_source);
}

/* ---- fork ---- */

void track_event_before_fork(void)
{
	pthread_mutex_lock(&publish_lock);
	categories_lock();
	string_ids_lock();
}

void track_event_after_fork_in_parent(void)
{
	string_ids_unlock();
	categories_unlock();
	pthread_mutex_unlock(&publish_lock);
}

void track_event_after_fork_in_child(void)
{
	categories_stop_all();
	process_identity_read();
	track_event_after_fork_in_parent();
}

/*
 * An event is written into each instance that records its category, on the caller's thread:
 *
 *	sonda_event -> scan -> for each instance: enter
 *	                           reset       if the incremental state is gone
 *	                           describe    if the track is new to the sequence
 *	                           encode      the event's packet
 *	                           leave
 */

static const struct sonda_arg no_args = {.type = SONDA_ARG_LIST_END};

/* Returns true if an event is recorded. One without static categories is recorded if one of its
 * dynamic categories is enabled, or if it has no dynamic category. */
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

/* Writes an event into all instances that record it. At least one of the two names is NULL. */
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
