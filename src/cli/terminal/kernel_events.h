/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"

/* The events of this machine's kernel that this process can list. */

#define TRACEFS_EVENTS_MAX_BYTES (16u << 20) /* of available_events */

struct tracefs_events {
	char *text; /* owned; names point into it */
	const char **names; /* owned array; "group/name", in the kernel's order */
	size_t n;
	char *root; /* owned; mount point of tracefs */
};

/* Possible mount points of tracefs, best first; ends with NULL. */
extern const char *const tracefs_roots[];

/* Returns the first root whose events can be read, borrowed from roots, else NULL. roots ends with
 * NULL. */
const char *tracefs_events_root(const char *const *roots);

/* Returns true if the tracefs at root has an event of this "group/name"; false for patterns and
 * bare names. Takes one system call; reading the list takes a millisecond of the kernel's time. */
bool tracefs_event_exists(const char *root, const char *name);

/* Reads root/available_events, without the events that sessions of sonda-probes have created.
 * Returns 0 or -errno (-EACCES, -ENOENT). tracefs_events_deinit() frees *ret. */
int tracefs_events_load(const char *root, struct tracefs_events *ret);
void tracefs_events_deinit(struct tracefs_events *t);

/* word: "group/name", "group:name" or "name", or a pattern of that form. */

/* Returns true if the word means the event, "group/name". */
bool tracefs_event_matches(const char *event, const char *word);
/* Returns true if the word means an event that exists. */
bool tracefs_events_has(const struct tracefs_events *t, const char *word);

/* Returns the nearest event name as "group/name", or "group/ *" if word resembles a group; else
 * NULL. t NULL: searches the events that sonda knows by itself, and no groups. The result points
 * into buf or t. */
#define TRACEFS_EVENTS_MAX_NAME 256
const char *tracefs_events_nearest(const struct tracefs_events *t, const char *word,
				   char buf[static TRACEFS_EVENTS_MAX_NAME]);
