/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The events of this machine's kernel, as far as this process may look. */

#define TRACEFS_EVENTS_MAX_BYTES (16u << 20) /* of available_events */

struct tracefs_events {
	char *text; /* owned; the names lie in it */
	const char **names; /* owned array; "group/name", in the kernel's order */
	size_t n;
	char *root; /* owned; where tracefs is */
};

/* The first of the usual places where tracefs can be read, else NULL. Static memory. */
const char *tracefs_events_root(void);

/* Reads root/available_events. 0 or -errno (-EACCES, -ENOENT). */
int tracefs_events_load(const char *root, struct tracefs_events *ret);
void tracefs_events_deinit(struct tracefs_events *t);

/* Is there such an event? word: "group/name", "name", or "group/ *" (any of the group). */
bool tracefs_events_has(const struct tracefs_events *t, const char *word);

/* The event that was probably meant, as "group/name", or NULL. t NULL: out of those that sonda
 * knows by itself; buf then holds the result. */
#define TRACEFS_EVENTS_MAX_NAME 256
const char *tracefs_events_nearest(const struct tracefs_events *t, const char *word,
				   char buf[static TRACEFS_EVENTS_MAX_NAME]);
