/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"

/* The events of this machine's kernel, as far as this process may look. */

#define TRACEFS_EVENTS_MAX_BYTES (16u << 20) /* of available_events */

struct tracefs_events {
	char *text; /* owned; the names lie in it */
	const char **names; /* owned array; "group/name", in the kernel's order */
	size_t n;
	char *root; /* owned; where tracefs is */
};

/* Where tracefs may be, best first; ends with NULL. */
extern const char *const tracefs_roots[];

/* The first of the places where the events can be read, else NULL. Borrowed from roots. */
const char *tracefs_events_root(const char *const *roots);

/* May a program with our rights record there? Every recording makes an instance. Returns 0, or -EACCES,
 * -ENOENT (no tracefs) and sets e: which file was refused, and what would allow it. */
int tracefs_events_may_record(const char *const *roots, struct err_text *e);

/* Reads root/available_events, without what sessions of sonda-probes have made for themselves. 0 or
 * -errno (-EACCES, -ENOENT). */
int tracefs_events_load(const char *root, struct tracefs_events *ret);
void tracefs_events_deinit(struct tracefs_events *t);

/* Is there such an event? word: "group/name", "group:name" or "name", or a pattern of that form. */
bool tracefs_events_has(const struct tracefs_events *t, const char *word);

/* The event that was probably meant, as "group/name", or "group/ *" of a word that is a group's; or
 * NULL. t NULL: out of those that sonda knows by itself. buf may hold the result. */
#define TRACEFS_EVENTS_MAX_NAME 256
const char *tracefs_events_nearest(const struct tracefs_events *t, const char *word,
				   char buf[static TRACEFS_EVENTS_MAX_NAME]);
