/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/core/err.h"

struct producer_port;

/*
 * The data sources that connected producers offer. A producer may offer one name several times.
 *
 * Each is in three lists: that of all, in the order in which they came, that of its producer, and
 * that of its name. So what one producer registers and withdraws takes no longer for what others
 * have registered.
 */
struct registered_source {
	TAILQ_ENTRY(registered_source) link;
	TAILQ_ENTRY(registered_source) of_producer;
	TAILQ_ENTRY(registered_source) of_name;
	struct producer_port *producer; /* borrowed: it goes with the producer */
	struct source_name *named; /* borrowed from the registry; while in the lists */
	char *name; /* owned; never empty */
	uint64_t serial; /* of the registration, from 1 on; an update keeps it */
	uint64_t id; /* the producer's own number; 0: none */
	bool will_notify_on_start, will_notify_on_stop;
	bool handles_incremental_state_clear;
	bool no_flush;
	/* A name of the system by a user who may not offer it: it is listed, and gets no config. */
	bool left_out;
	uint8_t *descriptor; /* owned; a sound DataSourceDescriptor, as it came */
	size_t descriptor_len;
	size_t cost; /* bytes of all this, as charged to the producer */
};
TAILQ_HEAD(source_list, registered_source);

struct registry {
	struct source_list sources; /* owned */
	struct source_name *names; /* owned: those with sources */
	size_t n; /* sources */
	uint64_t last_serial;
};

void registry_init(struct registry *r);

/* The first source of the name; the next ones by TAILQ_NEXT(source, of_name). NULL: there is none. */
struct registered_source *registry_first(const struct registry *r, const char *name);

/*
 * Adds one. descriptor: a serialized DataSourceDescriptor. 0 with *ret_source; -EBADMSG (does not
 * parse), -EINVAL (no usable name), -EEXIST (the producer has one of this id), -ENOBUFS (a limit),
 * -ENOMEM. e names the reason, but for -ENOMEM.
 */
int registry_add(struct registry *r, struct producer_port *p, const uint8_t *descriptor, size_t len,
		 struct err_text *e, struct registered_source **ret_source);

/* Replaces the descriptor of the one with the same id and name. 0; -ENOENT, or as above. */
int registry_update(struct registry *r, struct producer_port *p, const uint8_t *descriptor,
		    size_t len, struct err_text *e);

/* Forgets the first of the name; false when there is none. */
bool registry_remove(struct registry *r, struct producer_port *p, const char *name);
void registry_remove_all(struct registry *r, struct producer_port *p);
