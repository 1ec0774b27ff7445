/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ftrace/events/event_select.h"
#include "ftrace/events/event_representation.h"
#include "ftrace/tracefs/instance.h"

/*
 * Events that a session makes: probes and synthetic events. They stand at the top level of tracefs
 * and show in every instance, so each session's have names of their own (owner_tag.h), are switched on
 * in its instance alone, and go when it ends. Nobody else's are touched.
 */
enum dynevent_type {
	DYNEVENT_KPROBE, /* kprobe_events */
	DYNEVENT_UPROBE, /* uprobe_events */
	DYNEVENT_SYNTHETIC, /* synthetic_events */
};

struct dynevent {
	enum dynevent_type type;
	char *group; /* owned: of tracefs */
	char *name; /* owned: likewise */
	struct event_representation repr; /* owned strings */
	uint64_t hits; /* of a probe, when it was read last (session_stats.h) */
	uint64_t misses;
};

struct dynevents {
	char *root; /* owned: of tracefs */
	struct dynevent **events; /* owned, as what it points to; what is borrowed stays in place */
	size_t n;
	size_t cap;
};

/* The file of tracefs that makes them. */
const char *dynevent_file_name(enum dynevent_type type);
/* Has the kernel such a file? */
bool dynevent_supported(const char *root, enum dynevent_type type);

/*
 * Gives the kernel a command that makes the event group/name, or adds to it. It is remembered
 * before it is made. 0, the kernel's -errno, or -ENOMEM.
 */
int dynevents_create(struct dynevents *m, const char *root, const struct dynevent *event,
		     const char *command);
/* Removes the last one that was made. */
void dynevents_destroy_last(struct dynevents *m);

/* 0 or -ENOMEM. What the selection borrows lives until dynevents_destroy. */
int dynevents_select(const struct dynevents *m, struct event_selection *events);

/* Removes all, after the instance: what is on anywhere cannot be removed. Gives how many stay
 * because somebody else has them on; they go at a later start. Zeroed is fine. */
size_t dynevents_destroy(struct dynevents *m);

/* Removes what processes left behind that are gone. Gives how many. */
size_t dynevents_destroy_stale(const char *root);
