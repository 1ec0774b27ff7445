/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "lib/data_source/source.h"

/* Instances, for the files of this folder. All functions are for the loop's thread. */

/* Returns the instance with this id of the service, or NULL. */
struct instance *instance_find(const struct source_host *h, uint64_t id);
/* Ends an instance that is not INSTANCE_FREE. Then no thread uses it. */
void instance_end(struct instance *in);

void user_object_unref(struct user_object *u);

/* Sets up and starts an instance for a host without a link. */
void instance_begin(struct source_host *h, uint64_t id, const void *config, size_t len);

/* A session that was set up, and the user's object for it. */
struct instance_session {
	struct source_host *host;
	uint64_t id;
	uint16_t target_buffer;
	bool stalls;
	struct user_object *user; /* a reference */
};

/* The functions of startup.c, whose instance exists before its session. */
struct startup_ops {
	/* Returns the instance that sessions of the source can take over, or NULL. */
	const struct instance *(*offer)(const struct source *s);
	/* Call when such a session was set up. Returns false if it may not have the instance; else
	 * takes the reference. */
	bool (*set_up)(const struct instance_session *session);
	/* Call when the session starts. Returns true if it has the instance now. */
	bool (*start)(const struct source_host *h, uint64_t id);
	/* Call when the session stops without a start, and when its service is lost. */
	void (*stop)(const struct source_host *h, uint64_t id);
	void (*lost)(const struct source_host *h);
};

extern const struct startup_ops *startup_ops; /* NULL until startup_begin() */
