/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

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

void registry_init(struct registry *r);

/* Returns the first source of the name, or NULL. TAILQ_NEXT(source, of_name) is the next one. */
struct registered_source *registry_first(const struct registry *r, const char *name);

/*
 * Adds a data source. descriptor: a serialized DataSourceDescriptor, which is copied. trusted:
 * names of the system are allowed. Returns 0 and sets *ret_source; -EBADMSG (malformed), -EINVAL
 * (no valid name), -EEXIST (the producer has another source with this id), -ENOBUFS (a limit of the
 * producer), -EDQUOT (a limit of the user), -E2BIG (too large in memory) or -ENOMEM. Sets e, except
 * for -E2BIG and -ENOMEM.
 */
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
