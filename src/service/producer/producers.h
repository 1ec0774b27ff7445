/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "base/core/err.h"

struct producer_port;
struct quota_account;

/*
 * The data sources that connected producers have registered. A producer may register one name
 * several times.
 *
 * Each source is in three lists: that of all sources, in the order of registration, that of its
 * producer, and that of its name. So the cost of a registration does not depend on the number of
 * other sources.
 */
struct registered_source {
	TAILQ_ENTRY(registered_source) link;
	TAILQ_ENTRY(registered_source) of_producer;
	TAILQ_ENTRY(registered_source) of_name;
	struct producer_port *producer; /* borrowed: the source is removed before its producer */
	struct source_offer *offer; /* borrowed from the producer */
	struct source_name *named; /* borrowed from the registry; while in the lists */
	char *name; /* owned; never empty */
	uint64_t serial; /* of the registration, from 1 on; an update does not change it */
	uint64_t id; /* the producer's own number; 0: none */
	bool will_notify_on_start, will_notify_on_stop;
	bool handles_incremental_state_clear;
	bool no_flush;
	/* The name is reserved for the system, and the producer is not trusted. The source is
	 * listed, but never started. */
	bool left_out;
	uint8_t *descriptor; /* owned; a valid DataSourceDescriptor, unchanged */
	size_t descriptor_len;
	size_t cost; /* bytes charged to the producer */
};
TAILQ_HEAD(source_list, registered_source);

/* The data sources of one producer, which owns this and sets producer and account. */
struct source_offer {
	struct producer_port *producer;
	struct quota_account *account; /* charged for the descriptors */
	struct source_list sources; /* owned by the registry */
	size_t n;
};

struct registry {
	struct source_list sources; /* owned */
	struct source_name *names; /* owned: those with sources */
	size_t n; /* sources */
	uint64_t last_serial;
};

/* Returns the first source of the name, or NULL. TAILQ_NEXT(source, of_name) is the next one. */
struct registered_source *registry_find_first(const struct registry *r, const char *name);

/* Adds a data source. descriptor: a serialized DataSourceDescriptor, which is copied. trusted:
 * names of the system are allowed. Returns 0 and sets *ret_source; -EBADMSG (malformed), -EINVAL
 * (no valid name), -EEXIST (the producer has another source with this id), -ENOBUFS (a limit of the
 * producer), -EDQUOT (a limit of the user), -E2BIG (too large in memory) or -ENOMEM. Sets e, except
 * for -E2BIG and -ENOMEM. */
int registry_add(struct registry *r, struct source_offer *o, bool trusted,
		 const uint8_t *descriptor, size_t len, struct err_text *e,
		 struct registered_source **ret_source);

/* Replaces the descriptor of the source with the same id and name. Returns -ENOENT if there is
 * none, else as registry_add(). */
int registry_update(struct registry *r, struct source_offer *o, bool trusted,
		    const uint8_t *descriptor, size_t len, struct err_text *e);

/* Removes the producer's first source of the name. Returns false if there is none. */
bool registry_remove(struct registry *r, struct source_offer *o, const char *name);
void registry_remove_all(struct registry *r, struct source_offer *o);

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
