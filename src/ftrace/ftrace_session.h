/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "client/data_source.h"
#include "ftrace/cpu_reader.h"
#include "ftrace/event_table.h"
#include "ftrace/instance.h"
#include "ftrace/reports.h"
#include "ftrace/settings.h"
#include "ftrace/tid_set.h"
#include "ftrace/translate.h"

/*
 * All that one tracing session has of the kernel and for its records: the instance, the events that
 * are on in it, their rows, the open rings, the translator. Made at once, taken down at once; what
 * happens in between is ftrace_ds.c's.
 */
struct ftrace_session {
	struct ftrace_settings settings;
	struct reports reports;
	struct instance instance; /* not made when reports.problem says why */
	struct page_layout layout;
	struct event_table table;
	struct cpu_readers readers; /* none in that case */
	struct translator *translator; /* owned; NULL in that case */
	struct tid_set tids;
	struct tid_set renamed;
	uint32_t buffer_kb; /* of a ring, as the kernel was asked for it */
	enum ftrace_clock clock;
	int clock_fd; /* owned: stats of a ring, for a clock other than boot; else -1 */
};

/*
 * Makes the instance and turns the events of the config on in it; nothing is recorded yet. What
 * cannot be had is in s->reports. writer is borrowed for the session's life. 0 or -ENOMEM.
 */
int ftrace_session_open(struct ftrace_session *s, const struct ds_env *env, uint64_t session_id,
			const Pb__FtraceConfig *config, struct writer *writer);
/* Leaves tracefs as it was found. Once after ftrace_session_open, even if that failed; no bundle is
 * open. */
void ftrace_session_close(struct ftrace_session *s);

/* The moment on both clocks, for bundles that follow. Nothing to do with the boot clock. */
void ftrace_session_sync_clock(struct ftrace_session *s);
