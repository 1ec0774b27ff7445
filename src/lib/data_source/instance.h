/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "lib/data_source/source.h"

/* Instances, for the files of this room; on the loop's thread. */

/* Returns the instance of a service's number, or NULL. */
struct instance *instance_find(const struct source_host *h, uint64_t id);
/* Ends an instance in any state but INSTANCE_FREE: no thread uses it any more. */
void instance_end(struct instance *in);

/* Calls on_destroy, and frees it. */
void user_object_free(struct user_object *u);
void user_unref(struct user_object *u);

/* In a child after fork(). */
void flushes_forget(void);

/* A session that was set up, and its object. */
struct instance_session {
	struct source_host *host;
	uint64_t id;
	uint16_t target_buffer;
	bool stalls;
	struct user_object *user; /* a reference */
};

/* An instance that is there before its session (startup.c). */
struct instance_taker {
	/* Returns the instance that sessions of the source can take over, or NULL. */
	const struct instance *(*offer)(const struct source *s);
	/* Such a session was set up. Returns false if it may not have the instance; else takes the
	 * reference. */
	bool (*set_up)(const struct instance_session *session);
	/* Its start. Returns true if the session has the instance now. */
	bool (*start)(const struct source_host *h, uint64_t id);
	/* Its stop without a start; its service is lost. */
	void (*stop)(const struct source_host *h, uint64_t id);
	void (*lost)(const struct source_host *h);
};

extern const struct instance_taker *instance_taker; /* NULL: none; on the loop's thread */
