/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/transport/writer.h"
#include "config/data_source_config.pb-c.h"

struct event_base;
struct metadata_bus;

/*
 * What a data source is to the producer that runs it. One struct data_source a kind, const, in a
 * table; one instance for each tracing session that asks for it:
 *
 *	create    SetupDataSource: takes what others must not get first; records nothing yet
 *	start     StartDataSource: first data; answers with ds_started(), now or later
 *	flush     Flush: writes what is pending, hands the chunks over, answers with ds_flushed(),
 *	          now or later (after a second the flush continues without)
 *	clear     ClearIncrementalState: forgets what was interned
 *	stop      StopDataSource: undoes everything outside this process; answers with
 *	          ds_stopped(), now or later
 *	destroy   frees the instance and its writers. Called once after a create that succeeded,
 *	          whatever happened between; never from inside another function of the source
 *
 * flush, clear and stop come only to instances that were started. A lost service is stop, then
 * destroy at once, without a wait for the answer.
 *
 * A source that cannot do what it was asked to does not fail silently: it starts, records why (its
 * own stats packet), and stays empty; or its create fails, and the producer tells. All calls come
 * from the loop's thread.
 */

/* The producer's side of one instance; valid from create to destroy. */
struct ds_handle;

struct ds_env {
	struct event_base *loop;
	struct arbiter *arbiter;
	struct metadata_bus *feed;
	bool knows_consumers; /* DataSourceConfig.consumer_uid can be believed */
	bool trusts_consumers; /* each of them is taken for root */
	const char *proc_root; /* "/proc" but in tests */
	const char *sys_root; /* "/sys" */
	const char *tracefs_root; /* NULL: not mounted, or not ours to use */
	const char *bpf_root; /* the folder of users's own programs; NULL: there is none */
	const char *state_root; /* a folder that outlives this process, for what it would have to
				 * undo; made when it is needed. NULL: there is none */
};

struct data_source {
	const char *name; /* as in TraceConfig */
	bool handles_incremental_state_clear;
	/* Bits 1 << CAP_*: effective from before create until after destroy. */
	uint64_t capabilities;
	bool is_timely; /* what it does late is lost: PRIORITY_BOOST_BUDGETED where its config says nothing */
	/* config is borrowed during the call. 0 with *ret_instance, or -errno: then the source is
	 * started and stopped for the service's sake, but has no instance. */
	int (*create)(struct ds_handle *h, const struct ds_env *env,
		      const Pb__DataSourceConfig *config, void **ret_instance);
	void (*start)(void *instance);
	void (*flush)(void *instance, uint64_t flush_id);
	void (*clear)(void *instance); /* Returns NULL if it is not handled */
	void (*stop)(void *instance);
	void (*destroy)(void *instance);
	/* Bytes of a DataSourceDescriptor's further fields (ftrace_descriptor), appended to name
	 * and flags. NULL: none. */
	void (*describe)(struct pb_enc *e);
};

/* What an instance answers to its producer. */
void ds_started(struct ds_handle *h);
void ds_flushed(struct ds_handle *h, uint64_t flush_id);
void ds_stopped(struct ds_handle *h);

/* In a flush: a stop follows at once, so what the stop writes need not be written twice. */
bool ds_stop_follows(const struct ds_handle *h);

/* Asks the service to act on triggers by name, as soon as it reads it. What was written before is
 * there by then, once flushed. */
void ds_activate_triggers(struct ds_handle *h, const char *const *names, size_t n);

/* Is root the consumer that asks for the instance, by the word of a service that can be believed? */
bool ds_consumer_is_root(const struct ds_handle *h);

/* The session, and the service's number of the instance's buffer. */
uint64_t ds_session_id(const struct ds_handle *h);
uint16_t ds_target_buffer(const struct ds_handle *h);
/* A writer for the instance's buffer with the policy of its config; owned by the caller. */
struct writer *ds_writer_new(struct ds_handle *h);

/* The flushes of an instance that wait for their answer. */

/* At a time; the owner answers these before it adds one more, with what is written by then. */
#define FLUSHES_MAX 16

/* Zero-initialise. */
struct flushes {
	uint64_t ids[FLUSHES_MAX];
	unsigned n;
};

/* One that was requested: false, there is no room. */
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
