/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ftrace/events/event_select.h"
#include "ftrace/tracefs/instance.h"

/* Dynamic events of a session: probes and synthetic events. They exist at the top level of tracefs
 * and are visible in every instance. So the events of a session have unique names (owner_tag.h),
 * are enabled in its instance only, and are destroyed when it ends. Events of others are never
 * touched. */
enum dynevent_type {
	DYNEVENT_KPROBE, /* kprobe_events */
	DYNEVENT_UPROBE, /* uprobe_events */
	DYNEVENT_SYNTHETIC, /* synthetic_events */
};

struct dynevent {
	enum dynevent_type type;
	char *group; /* owned: in tracefs */
	char *name; /* owned: in tracefs */
	struct event_representation repr; /* owned strings */
	uint64_t hits; /* of a probe, at the latest read (session_stats.h) */
	uint64_t misses;
};

struct dynevents {
	char *root; /* owned: of tracefs */
	/* owned, with the events; an event never moves, because others borrow its repr */
	struct dynevent **events;
	size_t n;
	size_t cap;
};

/* Returns the file of tracefs that creates such events. */
const char *dynevent_file_name(enum dynevent_type type);
/* Returns true if the kernel has that file. */
bool dynevent_supported(const char *root, enum dynevent_type type);

/* Writes a command that creates the event group/name, or adds to it. Adds a copy of event to m
 * before the kernel creates it. Returns 0, the kernel's -errno, or -ENOMEM; then nothing is
 * added. */
int dynevents_create(struct dynevents *m, const char *root, const struct dynevent *event,
		     const char *command);
/* Destroys the latest event. */
void dynevents_destroy_last(struct dynevents *m);

/* Adds the events to a selection, which borrows them until dynevents_destroy. Returns 0 or
 * -ENOMEM. */
int dynevents_select(const struct dynevents *m, struct event_selection *events);

/* Destroys all events. Call it after the instance is removed: an enabled event cannot be
 * destroyed. Returns the number of events that remain because another process has enabled them; a
 * later start destroys them. Zeroed is allowed. */
size_t dynevents_destroy(struct dynevents *m);

/* Destroys the events of processes that have ended. Returns their number. */
size_t dynevents_destroy_stale(const char *root);
