/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "config/trace_config.pb-c.h"

/*
 * What makes the recorder save a snapshot: the values of --on, [NAME=]KIND[:ARGUMENT]
 *
 *	trigger:NAME		sonda trigger NAME
 *	counter:NAME>VALUE	a counter of linux.ebpf_counters; VALUE in its unit, or a time: 20ms
 *	unit-failed[:UNIT]	a unit of systemd has failed; UNIT with * and ?
 *	journal:EXPRESSION	a message of the journal
 *
 * All of them become triggers of the tracing service, which the recorder waits for. Without NAME, a
 * trigger is named after its KIND, with a number if there are several.
 */

#define RECORDER_TRIGGERS_MAX 32
#define RECORDER_TRIGGER_NAME_MAX 64 /* with its NUL; a part of file names */
#define RECORDER_DEFAULT_TRIGGER "recorder" /* sonda trigger recorder */

enum recorder_trigger_kind {
	RECORDER_ON_TRIGGER,
	RECORDER_ON_COUNTER,
	RECORDER_ON_UNIT_FAILED,
	RECORDER_ON_JOURNAL,
};

struct recorder_trigger {
	char name[RECORDER_TRIGGER_NAME_MAX];
	enum recorder_trigger_kind kind;
	const char *spec; /* borrowed: as typed */
	const char *argument; /* borrowed; NULL: none */
	size_t argument_len; /* for a counter: the length of its name */
	double above;
};

struct recorder_triggers {
	struct recorder_trigger of[RECORDER_TRIGGERS_MAX];
	size_t n;
};

/* Adds a value of --on, which is borrowed. Returns 0, or -EINVAL and sets e. */
int recorder_triggers_add(struct recorder_triggers *t, const char *spec, struct err_text *e);
/* Returns the spec of the trigger of this name, or NULL. */
const char *recorder_triggers_spec(const struct recorder_triggers *t, const char *name);

/* Adds to the configs of data sources the triggers that these send. Returns 0; -EINVAL and sets e
 * if the config lacks such a data source; or -ENOMEM. */
int recorder_triggers_put(const struct recorder_triggers *t, Pb__TraceConfig *config,
			  struct err_text *e);
/* Makes the config of the session that waits for the triggers and records nothing. The caller frees
 * it. Returns NULL if memory runs out. */
Pb__TraceConfig *recorder_triggers_config(const struct recorder_triggers *t);
