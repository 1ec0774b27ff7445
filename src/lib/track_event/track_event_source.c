/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/track_event/track_event_source.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <sonda/sonda.h>

#include "gen/fields.h"
#include "lib/data_source/startup.h"
#include "lib/public.h"
#include "lib/track_event/category.h"
#include "lib/track_event/event_config.h"
#include "lib/track_event/event_sequence.h"
#include "lib/track_event/process_identity.h"
#include "lib/track_event/string_ids.h"
#include "wire/pb_mem.h"

struct sonda_data_source track_event_source = SONDA_DATA_SOURCE_INIT;

/* ---- instances; the object of each is its config ---- */

static int on_setup(void *ctx, const struct sonda_setup *setup, void **ret_instance)
{
	struct event_config *config;
	int r = event_config_new(setup->config, setup->config_len, &config);

	(void)ctx;
	if (r < 0)
		return r;
	config->instance = setup->instance;
	*ret_instance = config;
	return 0;
}

static void on_start(void *ctx, void *instance)
{
	const struct event_config *config = instance;

	(void)ctx;
	categories_start(config->instance, config);
}

static void on_stop(void *ctx, void *instance, struct sonda_answer *answer)
{
	const struct event_config *config = instance;

	(void)ctx, (void)answer;
	categories_stop(config->instance);
}

static void on_destroy(void *ctx, void *instance)
{
	(void)ctx;
	event_config_free(instance);
}

static void on_thread_state_free(void *ctx, void *state)
{
	(void)ctx;
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

/* Registers the source, or (register_it false) updates it if it is registered. */
static int publish(bool register_it)
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
	(void)publish(false);
}

int track_event_init(void)
{
	/* Set it first, so that a category that is added during the registration updates it. */
	atomic_store_explicit(&categories_on_change, update_source, memory_order_release);
	return publish(true);
}

/* ---- startup tracing ---- */

/* Startup events are not filtered, so a session with a filter does not get them. */
static bool may_take_over(unsigned instance, const void *object)
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
				    .may_take_over = may_take_over,
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
