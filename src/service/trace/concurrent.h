/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * enable_concurrent_session_events: state changes of other sessions of the service while this one
 * ran, kept until a reading pass writes them.
 */
struct concurrent_event {
	uint64_t boot_ns;
	uint64_t session_id;
	uint32_t state; /* ConcurrentSessionEvent.State */
	uid_t uid;
	uint32_t n_sources;
	char *name; /* owned once it is in a list; NULL: the reader may not see it, or it has none */
};

struct concurrent_events {
	struct concurrent_event *list; /* owned; in the order of time */
	size_t n, cap;
};

/* Copies the event. Returns false if the list has MAX_CONCURRENT_EVENTS. */
bool concurrent_add(struct concurrent_events *c, const struct concurrent_event *event);
void concurrent_clear(struct concurrent_events *c);
void concurrent_deinit(struct concurrent_events *c);
