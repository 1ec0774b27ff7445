/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/system/priority_boost.h"
#include "client/producer/data_source.h"

/* The running data source instances of one connection, and the service's commands to them. Each
 * command is answered. Commands for instances that do not exist, failed or have an unknown source
 * are answered at once. */
struct instance_table;

#define DS_INSTANCES_MAX 1024u /* further ones are answered, but not created */
/* Limits for consumers other than root: instances of one data source for one user, and for all
 * users; instances of all data sources, created or not. Consumers whose user is unknown share the
 * limits for all users. */
#define DS_INSTANCES_OF_USER 16u
#define DS_INSTANCES_OF_OTHERS 48u
#define DS_INSTANCES_OF_OTHERS_MAX (DS_INSTANCES_MAX / 4 * 3)
#define DS_INSTANCES_MAX_FLUSHES 64u /* open at a time; one more ends the oldest */

struct instance_table_ops {
	void (*started)(void *ctx, uint64_t id);
	/* The instance is destroyed, and all its data was given to the arbiter. */
	void (*stopped)(void *ctx, uint64_t id);
	/* This flush, and all before it, are answered or have timed out. */
	void (*flushed)(void *ctx, uint64_t flush_id);
	/* A source could not be set up: the error of its create, -ENOENT (unknown name), -EDQUOT
	 * (a limit of users other than root), -E2BIG (DS_INSTANCES_MAX) or -ENOMEM. name is
	 * borrowed. */
	void (*failed)(void *ctx, const char *name, int error);
	/* A session starts, ends or is cloned, and its source `name` records nothing because of
	 * `error`. The callee writes that into the trace. May be NULL. */
	void (*records_nothing)(void *ctx, uint16_t target_buffer, const char *name, int error);
	/* The strongest priority_boost of all instances has changed. Its policy is
	 * PRIORITY_BOOST_NONE if no instance has one. */
	void (*boosted)(void *ctx, struct priority_boost strongest);
	/* Reports a new set of capabilities (bits 1 << CAP_*) that the sources with instances need.
	 * Called before an instance is created and after one is destroyed. May be NULL. */
	void (*capabilities)(void *ctx, uint64_t mask);
	/* A source activates triggers of the session. May be NULL; names are borrowed. */
	void (*triggered)(void *ctx, const char *const *names, size_t n);
	/* The priority_boost of a source is refused; the source continues without it. why: the rest
	 * of a sentence that begins with "priority_boost". Both are borrowed. */
	void (*bad_boost)(void *ctx, const char *name, const char *why);
};

/* Returns NULL if there is no memory. sources, env and ops are borrowed until free. */
struct instance_table *instance_table_new(const struct data_source *const *sources,
					  const struct ds_env *env,
					  const struct instance_table_ops *ops, void *ctx);
/* Stops and destroys all instances, newest first, without answers. Also ends their priority boost.
 * No-op for NULL. */
void instance_table_free(struct instance_table *s);

/* Sets up an instance. config NULL: an empty one. A second set-up of an id is ignored. */
void instance_table_setup(struct instance_table *s, uint64_t id,
			  const Pb__DataSourceConfig *config);
/* Starts an instance; sets it up first if necessary. */
void instance_table_start(struct instance_table *s, uint64_t id,
			  const Pb__DataSourceConfig *config);
void instance_table_stop(struct instance_table *s, uint64_t id);
/* flags: FLUSH_REASON_STOP and others (config/limits.h). */
void instance_table_flush(struct instance_table *s, const uint64_t *ids, size_t n,
			  uint64_t flush_id, uint64_t flags);
void instance_table_clear(struct instance_table *s, const uint64_t *ids, size_t n);
