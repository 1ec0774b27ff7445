/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/core/sized_struct.h"
#include "gen/fields.h"
#include "lib/data_source/event_writer.h"
#include "lib/data_source/source.h"
#include "lib/library_loop.h"
#include "lib/public.h"
#include "wire/pb_enc.h"

/*
 * The list of data sources: one array, whose elements the lock guards. Sources are removed on the
 * loop's thread only, so a pointer stays valid during a task of the loop.
 */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct source *sources[SOURCES_MAX];
static uint32_t last_version;

void (*sources_on_change)(void);
void (*sources_on_removed)(unsigned index, const char *name);

static void on_change(struct io_task *t)
{
	if (sources_on_change)
		sources_on_change();
}

static struct io_task change = {.fn = on_change};

struct source *source_next(int after)
{
	struct source *s = NULL;

	pthread_mutex_lock(&lock);
	for (int i = after + 1; i < SOURCES_MAX && !s; i++)
		s = sources[i];
	pthread_mutex_unlock(&lock);
	return s;
}

struct source *source_find(const char *name, size_t len)
{
	for (struct source *s = source_next(-1); s; s = source_next((int)s->index))
		if (strlen(s->name) == len && memcmp(s->name, name, len) == 0)
			return s;
	return NULL;
}

/* ---- register ---- */

static void source_free(struct source *s)
{
	if (!s)
		return;
	free(s->name);
	free(s->descriptor);
	free(s);
}

/* Replaces the source's descriptor by a copy, with a new version. Returns 0 or -ENOMEM. Call it
 * with lock held. */
static int source_set_descriptor(struct source *s, const void *descriptor, size_t len)
{
	void *copy = len ? malloc(len) : NULL;

	if (len && !copy)
		return -ENOMEM;
	if (len)
		memcpy(copy, descriptor, len);
	free(s->descriptor);
	s->descriptor = copy;
	s->descriptor_len = len;
	s->version = ++last_version;
	return 0;
}

/* Creates a source, in no list and without a descriptor. Returns NULL if memory runs out. */
static struct source *source_new(struct sonda_data_source *ds,
				 const struct sonda_data_source_options *o)
{
	struct source *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->ds = ds;
	s->name = strdup(o->name);
	if (o->callbacks)
		s->callbacks = *o->callbacks;
	s->ctx = o->ctx;
	s->thread_state_size = o->thread_state_size;
	s->full_policy = o->full_policy;
	s->clears = o->handles_incremental_state_clear;
	for (unsigned i = 0; i < SONDA_MAX_INSTANCES; i++)
		s->instances[i] = (struct instance){.source = s, .slot = i};
	if (!s->name) {
		source_free(s);
		return NULL;
	}
	return s;
}

/* Adds the source to the list. Returns 0, -EEXIST (the handle or the name is in the list already)
 * or -ENOSPC. Call it with lock held. */
static int source_list_add(struct source *s)
{
	int at = -1;

	for (int i = 0; i < SOURCES_MAX; i++) {
		if (!sources[i])
			at = at < 0 ? i : at;
		else if (sources[i]->ds == s->ds || strcmp(sources[i]->name, s->name) == 0)
			return -EEXIST;
	}
	if (at < 0)
		return -ENOSPC;
	atomic_store(&thread_free_writers, event_writers_free);
	s->index = (unsigned)at;
	sources[at] = s;
	s->ds->enabled = 0;
	s->ds->source = (struct sonda_source *)s;
	return 0;
}

SONDA_PUBLIC int sonda_data_source_register(struct sonda_data_source *ds,
					    const struct sonda_data_source_options *options)
{
	struct sonda_data_source_options o;
	struct source *s;
	int r;

	if (!ds || !options || sized_struct_copy(&o, sizeof(o), options) < 0 || !o.name || !*o.name)
		return -EINVAL;
	s = source_new(ds, &o);
	if (!s)
		return -ENOMEM;
	pthread_mutex_lock(&lock);
	r = source_set_descriptor(s, o.descriptor, o.descriptor_len);
	if (r == 0)
		r = source_list_add(s);
	pthread_mutex_unlock(&lock);
	if (r < 0)
		source_free(s);
	else
		io_post(&library_loop, &change);
	return r;
}

SONDA_PUBLIC int sonda_data_source_update(struct sonda_data_source *ds, const void *descriptor,
					  size_t len)
{
	struct source *s;
	int r = -ENOENT;

	pthread_mutex_lock(&lock);
	s = (struct source *)ds->source;
	if (s)
		r = source_set_descriptor(s, descriptor, len);
	pthread_mutex_unlock(&lock);
	if (r == 0)
		io_post(&library_loop, &change);
	return r;
}

/* ---- remove ---- */

void source_remove(struct source *s)
{
	if (sources_on_removed)
		sources_on_removed(s->index, s->name);
	pthread_mutex_lock(&lock);
	sources[s->index] = NULL;
	s->ds->source = NULL;
	pthread_mutex_unlock(&lock);
	source_free(s);
}

/* ---- descriptors ---- */

static void source_put_descriptor(struct pb_enc *e, const struct source *s)
{
	pb_enc_str(e, PB_DATA_SOURCE_DESCRIPTOR_NAME, s->name);
	/* Unique in this process: an update identifies the source by name and id. */
	pb_enc_u64(e, PB_DATA_SOURCE_DESCRIPTOR_ID, s->index + 1);
	pb_enc_bool(e, PB_DATA_SOURCE_DESCRIPTOR_WILL_NOTIFY_ON_STOP, true);
	pb_enc_bool(e, PB_DATA_SOURCE_DESCRIPTOR_WILL_NOTIFY_ON_START, true);
	if (s->clears)
		pb_enc_bool(e, PB_DATA_SOURCE_DESCRIPTOR_HANDLES_INCREMENTAL_STATE_CLEAR, true);
	pb_enc_raw(e, s->descriptor, s->descriptor_len);
}

int source_describe(void *ctx, unsigned index, uint32_t *ret_version, void **ret, size_t *ret_len)
{
	struct pb_mem m;
	int r = pb_mem_init(&m);

	if (r < 0)
		return r;
	pthread_mutex_lock(&lock);
	if (!sources[index]) {
		r = -ENOENT;
	} else {
		source_put_descriptor(&m.enc, sources[index]);
		r = m.failed ? -ENOMEM : 0;
	}
	if (r == 0) {
		*ret_version = sources[index]->version;
		*ret_len = pb_mem_len(&m);
		*ret = TAKE_PTR(m.buf);
	}
	pthread_mutex_unlock(&lock);
	pb_mem_deinit(&m);
	return r;
}

/* ---- fork ---- */

void sources_before_fork(void)
{
	pthread_mutex_lock(&lock);
}

void sources_after_fork_in_parent(void)
{
	pthread_mutex_unlock(&lock);
}

void sources_after_fork_in_child(void)
{
	pthread_mutex_init(&lock, NULL);
}

/* ---- dropped packets, time ---- */

SONDA_PUBLIC uint64_t sonda_data_source_dropped(struct sonda_data_source *ds)
{
	const struct source *s = (const struct source *)ds->source;

	return s ? atomic_load_explicit(&s->dropped, memory_order_relaxed) : 0;
}

SONDA_PUBLIC uint64_t sonda_now(void)
{
	return clock_boot_ns();
}
