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
enum made_in {
	MADE_KPROBE, /* kprobe_events */
	MADE_UPROBE, /* uprobe_events */
	MADE_SYNTHETIC, /* synthetic_events */
};

struct made_event {
	enum made_in in;
	char *group; /* owned: of tracefs */
	char *name; /* owned: likewise */
	struct event_representation repr; /* owned strings */
	uint64_t hits; /* of a probe, when it was read last (probe_profile.h) */
	uint64_t misses;
};

struct made_events {
	char *root; /* owned: of tracefs */
	struct made_event *
		*events; /* owned, as what it points to; what is borrowed stays in place */
	size_t n;
	size_t cap;
};

/* The file of tracefs that makes them. */
const char *made_in_file(enum made_in in);
/* Has the kernel such a file? */
bool made_in_is_there(const char *root, enum made_in in);

/*
 * Gives the kernel a command that makes the event group/name, or adds to it. It is remembered
 * before it is made. 0, the kernel's -errno, or -ENOMEM.
 */
int made_events_make(struct made_events *m, const char *root, const struct made_event *event,
		     const char *command);
/* Removes the last one that was made. */
void made_events_undo(struct made_events *m);

/* 0 or -ENOMEM. What the selection borrows lives until made_events_remove. */
int made_events_select(const struct made_events *m, struct event_selection *events);

/* Removes all, after the instance: what is on anywhere cannot be removed. Gives how many stay
 * because somebody else has them on; they go at a later start. Zeroed is fine. */
size_t made_events_remove(struct made_events *m);

/* Removes what processes left behind that are gone. Gives how many. */
size_t made_events_remove_stale(const char *root);
