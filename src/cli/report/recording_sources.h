/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/name_list.h"
#include "base/core/err.h"
#include "base/text/str.h"
#include "cli/terminal/kernel_events.h"
#include "common/tracing_service_state.pb-c.h"
#include "config/trace_config.pb-c.h"

/* The producers that a recording of the kernel relies on: those that have registered a "linux."
 * data source of its config when it begins. Such a daemon does not disconnect by itself, so one
 * that is gone at the end was killed and its uncommitted data is lost. (Programs that trace
 * themselves connect and disconnect normally, and are not counted.) */
struct source_producers {
	int32_t *ids; /* owned; the service's numbers, which a successor does not get */
	size_t n;
	size_t cap;
	struct name_list names; /* the name of ids[i] is "NAME (pid N)" */
};

/*
 * The producers of the data sources of a recording, from the state of the service at the start and
 * at the end. A source is missing if it is missing both times.
 */

/* Zero-initialise; recording_sources_deinit frees. */
struct recording_sources {
	struct name_list missing; /* data sources that no producer has registered */
	struct name_list left_out; /* registered, but filtered out; sentences */
	struct name_list skipped; /* fields that a producer does not know; sentences */
	struct name_list offered; /* data sources that were registered at the beginning */
	struct name_list gone; /* producers that disconnected during it */
	struct source_producers producers;
};

void recording_sources_deinit(struct recording_sources *s);

/* Returns 0, or sets e and returns why the recording must not start: -ENODEV
 * (config_sources_are_all_missing) or -EOPNOTSUPP (check_own_fields). */
int recording_sources_begin(struct recording_sources *s, const Pb__TraceConfig *config,
			    const Pb__TracingServiceState *state, struct err_text *e);
void recording_sources_end(struct recording_sources *s, const Pb__TraceConfig *config,
			   const Pb__TracingServiceState *state);

/* Appends warnings for the start of a recording, one per line; if there are many, only the first
 * ones. events: of this machine's kernel, NULL unknown. runs_command: the recording starts a
 * program, which may provide track events. */
void recording_sources_warn(const struct recording_sources *s, const Pb__TraceConfig *config,
			    const struct tracefs_events *events, bool runs_command,
			    struct strbuf *lines);
