/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* Activates triggers, as a producer without data sources. */

struct event_base;
struct trigger_call;

struct trigger_call_setup {
	struct event_base *loop; /* borrowed, as all that follows; the texts only during the call */
	const char *address; /* of the producer socket */
	/* name of the producer, which traces show beside that of the trigger */
	const char *producer;
	char *const *names; /* of the triggers */
	size_t n;
	/* Called once, from the loop; may free the call. error: 0, or -errno; -ETIMEDOUT: no answer
	 * in time, -EPROTO: refused. */
	void (*on_end)(void *ctx, int error);
	void *ctx;
};

/* Connects, and activates the triggers. Returns 0, or -errno if the service cannot be reached. */
int trigger_call_start(const struct trigger_call_setup *setup, struct trigger_call **ret);
/* Ends the call without calling on_end. No-op for NULL. */
void trigger_call_free(struct trigger_call *c);

/* Like trigger_call_start(), but waits for the answer. Returns what on_end receives, or -errno. */
int activate_triggers(const char *address, char *const *names, size_t n);
