/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct session;

/*
 * enable_concurrent_session_events: what other sessions of the service did while this one ran, kept
 * until a reading pass writes it. What a session is named is told to its own user and to root only.
 */
struct concurrent_event {
	uint64_t boot_ns;
	uint64_t session_id;
	uint32_t state; /* ConcurrentSessionEvent.State */
	uid_t uid;
	uint32_t n_sources;
	char *name; /* owned; NULL: none to tell */
};

struct concurrent_events {
	struct concurrent_event *list; /* owned; in the order of time */
	size_t n, cap;
};

/* The session is new and in the service's list: notes in which state the others are. */
void concurrent_begin(struct session *s);
/* This session has another state now: all others that want to know note it. */
void concurrent_tell(const struct session *s);
void concurrent_clear(struct concurrent_events *c);
void concurrent_deinit(struct concurrent_events *c);
