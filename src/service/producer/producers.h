/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "service/producer/registry.h"

struct ipc_peer;
struct producer_port;
struct quota;

TAILQ_HEAD(producer_list, producer_port);

/* Events of producers for the sessions. Called from the loop; all but committed() after the
 * producer's call was answered. */
struct producer_events {
	void (*source_registered)(void *ctx, const struct registered_source *source);
	/* Called after the data source was removed from the registry. */
	void (*source_unregistered)(void *ctx, struct producer_port *p, const char *name);
	/* The producer acknowledges a start or a stop. id: of the instance; unchecked. */
	void (*instance_started)(void *ctx, const struct producer_port *p, uint64_t id);
	void (*instance_stopped)(void *ctx, const struct producer_port *p, uint64_t id);
	/* Chunks were written into buffers. On the hot path. */
	void (*committed)(void *ctx);
	/* The producer has flushed for this request and all before it. */
	void (*flush_done)(void *ctx, struct producer_port *p, uint64_t flush_id);
	/* *budget: remaining steps of regular expressions (service/session/name_regex.h). */
	void (*trigger)(void *ctx, const struct producer_port *p, const char *name,
			uint64_t *budget);
	/* The producer disconnected. It was removed from all lists, and its memory was scraped. */
	void (*gone)(void *ctx, struct producer_port *p);
};

/*
 * The initialized producers and their registered data sources.
 *
 *	producers --register--> registry
 *	    |
 *	    +-- producer_events --> sessions
 */
struct producers {
	struct quota *quota; /* borrowed */
	const struct producer_events *events; /* borrowed */
	void *ctx;
	struct producer_list list; /* each is owned by its connection */
	size_t n;
	struct registry registry; /* owned */

	uint64_t ids[(UINT16_MAX + 1) / 64]; /* one bit each: set while in use */
	uint16_t last_id; /* the last id allocated; they wrap */

	/* not accepted by any buffer, since the service started */
	uint64_t chunks_discarded;
	uint64_t patches_discarded;

	bool lockdown; /* only producers of root and of our own user are admitted */
	uid_t uid; /* of this process */
	const uid_t *system_users; /* borrowed: other users that may register data sources of the
				      system */
	size_t n_system_users;
};

void producers_init(struct producers *ps, struct quota *quota, const struct producer_events *events,
		    void *ctx);

/* Returns 0 if all ids are in use. An id is reused as late as possible. */
uint16_t producers_new_id(struct producers *ps);
void producers_free_id(struct producers *ps, uint16_t id);

/* Applies a LockdownModeOperation of a config. */
void producers_set_lockdown(struct producers *ps, int operation);
/* Returns false if the lockdown excludes the peer. */
bool producers_is_admitted(const struct producers *ps, const struct ipc_peer *peer);
/* Returns true if the data sources of this peer may have names of the system: for root, the
 * service's own user, the users named when the service started, and admitted remote machines. */
bool producers_is_trusted(const struct producers *ps, const struct ipc_peer *peer);
