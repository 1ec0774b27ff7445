/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/transport/writer.h"
#include "config/data_source_config.pb-c.h"

struct event;
struct event_base;
struct metadata_bus;

/*
 * Interface between a data source and the producer that runs it. Each kind has one const struct
 * data_source in a table, and one instance for each tracing session that requests it:
 *
 *	create    SetupDataSource: reserves exclusive resources; records nothing yet
 *	start     StartDataSource: first data; answers with ds_started(), now or later
 *	flush     Flush: writes pending data, commits the chunks, answers with ds_flushed(), now or
 *	          later (after a second the flush continues without it)
 *	clear     ClearIncrementalState: drops interned state
 *	stop      StopDataSource: undoes all changes outside this process; answers with
 *	          ds_stopped(), now or later
 *	destroy   frees the instance and its writers. Called once after a create that succeeded,
 *	          in any state; never from inside another function of the source
 *
 * flush, clear and stop are called only for started instances. When the connection is lost, stop is
 * called, then destroy at once, without waiting for the answer.
 *
 * A source that cannot do what its config requests must report that. Either it starts, writes the
 * reason into its own stats packet and records nothing, or create fails and the producer reports
 * the error. All calls come from the loop's thread.
 */

/* The producer's side of one instance; valid from create to destroy. */
struct ds_handle;

/* What all data sources of a program share. The pointers are valid until all instances are
 * destroyed. */
struct ds_env {
	struct event_base *loop;
	struct arbiter *arbiter;
	struct metadata_bus *bus;
	bool knows_consumers; /* DataSourceConfig.consumer_uid is trustworthy */
	bool trusts_consumers; /* all consumers are treated as root */
	int32_t service_pid; /* 0: unknown */
	const char *proc_root; /* "/proc" except in tests */
	const char *sys_root; /* "/sys" */
	const char *tracefs_root; /* NULL: not mounted, or no permission */
	const char *bpf_root; /* directory of user programs; NULL: none */
	const char *state_root; /* a directory that outlives this process, for undo logs; created
				 * when it is needed. NULL: none */
};

struct data_source {
	const char *name; /* the name in a TraceConfig */
	bool handles_incremental_state_clear;
	/* Capabilities that it needs, bits 1 << CAP_*: effective from before create until after
	 * destroy. */
	uint64_t capabilities;
	bool is_timely; /* loses data if it runs late; its default is PRIORITY_BOOST_BUDGETED */
	/* config is borrowed during the call. Returns 0 and *ret_instance, or -errno: then
	 * the producer answers the service's start and stop itself, without an instance. */
	int (*create)(struct ds_handle *h, const struct ds_env *env,
		      const Pb__DataSourceConfig *config, void **ret_instance);
	void (*start)(void *instance);
	void (*flush)(void *instance, uint64_t flush_id);
	void (*clear)(void *instance); /* NULL: not supported */
	void (*stop)(void *instance);
	void (*destroy)(void *instance);
	/* Writes further fields of the DataSourceDescriptor (ftrace_descriptor), after its name and
	 * flags. NULL: none. */
	void (*describe)(struct pb_enc *e);
};

/* Answers of an instance to its producer. */
void ds_started(struct ds_handle *h);
void ds_flushed(struct ds_handle *h, uint64_t flush_id);
void ds_stopped(struct ds_handle *h);

/* In a flush: returns true if a stop follows at once, so data that the stop writes can be
 * omitted. */
bool ds_flush_precedes_stop(const struct ds_handle *h);

/* Activates triggers by name. Data that was written and flushed earlier reaches the service before
 * the triggers. */
void ds_activate_triggers(struct ds_handle *h, const char *const *names, size_t n);

/* Returns the uid of the instance's consumer, as reported by a trustworthy service;
 * CONSUMER_UNKNOWN if it is not reported or the service is not trustworthy; 0 if all consumers are
 * treated as root (trusts_consumers). */
#define CONSUMER_UNKNOWN UINT32_MAX
uint32_t ds_consumer_uid(const struct ds_handle *h);
static inline bool ds_consumer_is_root(const struct ds_handle *h)
{
	return ds_consumer_uid(h) == 0;
}

/* If the consumer is not root: delays the event until the loop has nothing else to do, so that it
 * hardly delays root's data sources. The event must not be active. */
void ds_yield_to_root(const struct ds_handle *h, struct event *e);

/* Returns the id of the tracing session. */
uint64_t ds_session_id(const struct ds_handle *h);
/* Creates a writer for the instance's buffer, with the policy of its config. It yields to writers
 * of root (writer_yield) if the consumer is another user. The caller owns it. Returns NULL if there
 * is no memory or no free writer id. */
struct writer *ds_writer_new(struct ds_handle *h);

/* The flushes of an instance that are not answered yet. */

/* Maximum; when it is reached, the instance answers all of them before it adds one more. */
#define FLUSHES_MAX 16

/* Zero-initialise. */
struct flushes {
	uint64_t ids[FLUSHES_MAX];
	unsigned n;
};

/* Adds a flush. Returns false if there is no room. */
static inline bool flushes_add(struct flushes *f, uint64_t id)
{
	if (f->n == FLUSHES_MAX)
		return false;
	f->ids[f->n++] = id;
	return true;
}

static inline void flushes_answer(struct flushes *f, struct ds_handle *h)
{
	for (unsigned i = 0; i < f->n; i++)
		ds_flushed(h, f->ids[i]);
	f->n = 0;
}
