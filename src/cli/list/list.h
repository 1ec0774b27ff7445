/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/core/err.h"
#include "cli/list/list_out.h"
#include "cli/terminal/kernel_events.h"
#include "cli/terminal/presets.h"
#include "common/tracing_service_state.pb-c.h"

/*
 * The things that can be recorded here. Each kind has a row in the table of cmd_list.c, and a
 * function that adds the things that match a pattern to the list. The verbs list and describe call
 * it.
 */

enum list_detail {
	LIST_NAMES, /* name and title */
	LIST_CONTENTS, /* and what it expands to: for a list of one kind */
	LIST_ALL, /* everything, for describe and --fields */
};

struct list {
	struct list_out out;
	enum list_detail detail;
	bool exact; /* patterns are names: describe */
	const char *socket; /* NULL: the default */
	struct presets *presets; /* owned */
	struct tracefs_events events; /* owned; n is 0 before they are read, or if they cannot be */
	bool events_read;
	int events_error; /* result of reading events: 0 or -errno */
	Pb__TracingServiceState *state; /* owned; NULL: no service, or not requested yet */
	bool state_asked;
	struct err_text no_service; /* why there is no state */
	bool error_reported; /* list_matches_of_all_kinds() has reported an unreadable kind */
};

struct list_kind {
	const char *name; /* "event" */
	const char *names; /* "events" */
	const char *help;
	/* Adds the things whose names match; pattern NULL: all. Returns 0, or -errno and sets e. */
	int (*put)(struct list *l, const char *pattern, struct err_text *e);
};

int list_events(struct list *l, const char *pattern, struct err_text *e);
int list_groups(struct list *l, const char *pattern, struct err_text *e);
int list_presets(struct list *l, const char *pattern, struct err_text *e);
int list_sources(struct list *l, const char *pattern, struct err_text *e);
int list_families(struct list *l, const char *pattern, struct err_text *e);
int list_functions(struct list *l, const char *pattern, struct err_text *e);
/* pattern: PROGRAM or PROGRAM:PATTERN. Without PROGRAM this is an error; in a list of all kinds it
 * adds nothing. */
int list_usdt(struct list *l, const char *pattern, struct err_text *e);
int list_categories(struct list *l, const char *pattern, struct err_text *e);

/* Returns true if the name is selected. pattern NULL: all. */
bool list_matches_pattern(const struct list *l, const char *pattern, const char *name);
/* Reads the kernel's events, once. Returns 0, or -errno and sets e. */
int list_load_events(struct list *l, struct err_text *e);
/* Returns the state of the tracing service, which is requested once and borrowed; NULL, and sets
 * l->no_service, if no service answers. */
const Pb__TracingServiceState *list_service_state(struct list *l);
/* Returns true for "PROGRAM:", "PROGRAM:PATTERN" or a path: they mean functions of a program
 * instead of those of the kernel. */
bool list_is_program_pattern(const char *pattern);
/* Lists the functions of the program that such a pattern names. */
int list_program_functions(struct list *l, const char *pattern, struct err_text *e);
