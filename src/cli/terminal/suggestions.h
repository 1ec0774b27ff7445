/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/terminal/kernel_events.h"
#include "cli/terminal/presets.h"

/* Returns what the user may have meant by an unknown word of sonda record: a preset,
 * "group/name", "group/" and a star, or for a pattern a similar pattern that matches an event;
 * NULL if nothing is similar. events NULL: compares the events that sonda knows by itself, and
 * suggests nothing for a pattern. presets may be NULL. The result points into buf or events. */
const char *suggestions_find(const struct tracefs_events *events, struct presets *presets,
			     const char *word, char buf[static TRACEFS_EVENTS_MAX_NAME]);
