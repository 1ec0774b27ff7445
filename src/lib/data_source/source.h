/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sonda/data_source.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/library_loop.h"

/*
 * Registered data sources and their instances.
 *
 *	register, update, unregister    any thread; the list has a lock
 *	commands of a service           the loop's thread, as all callbacks
 *	sonda_writer_enter()            any thread, without a lock
 *
 * An instance's fields change only while its bit in ds->enabled is 0 and no thread is inside, so a
 * thread that has entered and has seen the bit may read them.
 */

#define SOURCES_MAX 64 /* in a process */

struct arbiter;
struct service_link;
struct service_sources;
struct source;

/* The service that an instance records for, and its connection. */
struct source_host {
	/* borrowed; NULL: there is none, so answers are dropped (instance.c) */
	struct service_link *link;
	struct arbiter *arbiter;
	bool sends_setup; /* before each start; old services send no setup */
	void (*trouble)(const char *sentence); /* reports if there is no link; may be NULL */
};

/* Writes one sentence for the user. */
void source_host_report(const struct source_host *h, const char *sentence);

enum source_instance_state { INSTANCE_FREE, INSTANCE_SET_UP, INSTANCE_STARTED, INSTANCE_STOPPING };

/* The object that the user's on_setup returned for an instance. Deferred replies may outlive the
 * instance. */
struct user_object {
	void *object;
	unsigned refs; /* one for the instance, and one for each open answer */
	struct source *source; /* NULL: unregistered, on_destroy was called */
	struct user_object *next; /* of the same source */
};

struct instance {
	struct source *source;
	unsigned slot;
	enum source_instance_state state;
	uint32_t epoch; /* changes with each use of the slot */
	struct source_host *host;
	uint64_t id; /* given by the service */
	uint16_t target_buffer;
	bool stalls;
	struct user_object *user; /* a reference */
	_Atomic uint32_t clears; /* number of clears that the service requested */
	/* Dropped packets of threads that have ended and had no room to report them. */
	_Atomic uint64_t unreported;
	_Atomic uint64_t written; /* packets of writers that were freed */
};

struct source {
	struct sonda_data_source *ds; /* borrowed */
	char *name; /* owned */
	struct sonda_data_source_callbacks callbacks;
	void *ctx;
	size_t thread_state_size;
	enum sonda_full_policy full_policy;
	bool clears;
	unsigned index; /* 0..SOURCES_MAX - 1 */
	_Atomic uint64_t dropped;
	struct instance instances[SONDA_MAX_INSTANCES];
	struct user_object *users; /* all of the source, also those of ended instances */
	/* with the lock: */
	void *descriptor; /* owned; further fields */
	size_t descriptor_len;
	uint32_t version; /* new with each new descriptor; unique in the process, never 0 */
};

/*
 * ---- for the connection to a service; on the loop's thread ----
 *
 * All data sources, for a service_producer whose sources_ctx is a source_host. Every Start, Stop
 * and Flush is answered, even if the setup has failed. A Flush is answered when the sources have
 * answered and the data of all threads is committed. The end of a connection ends all its instances
 * at once.
 */
extern const struct service_sources source_commands;

/* Called on the loop's thread after a source is added or its descriptor changes. */
extern void (*sources_on_change)(void);
/* Called on the loop's thread after a source is removed. */
extern void (*sources_on_removed)(unsigned index, const char *name);

/* Call these around fork(). The child keeps the sources. Then sources_clear_instances() drops the
 * instances there. */
void sources_before_fork(void);
void sources_after_fork_in_parent(void);
void sources_after_fork_in_child(void);
void sources_clear_instances(void);

/*
 * ---- for this directory ----
 *
 * Each file calls only those listed before it:
 *
 *	registry.c -> the list of sources
 *	instance.c -> the life of their instances, and of the one before its session (startup.h)
 */

/* Returns the source of this name, or NULL. For the loop's thread, on which sources are removed. */
struct source *source_find(const char *name, size_t len);
/* Returns the next source after index `after` (-1: the first), or NULL. */
struct source *source_next(int after);
/* Sets *ret to the serialized DataSourceDescriptor of the source with this index, which the caller
 * frees. ctx is unused. Returns 0, -ENOENT or -ENOMEM. Any thread. */
int source_describe(void *ctx, unsigned index, uint32_t *ret_version, void **ret, size_t *ret_len);
/* Removes a source without instances and users from the list, and frees it. For the loop's
 * thread. */
void source_remove(struct source *s);
