/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "cli/host/host_agent.h"
#include "cli/record/command_child.h"
#include "cli/record/record_options.h"
#include "cli/record/recording.h"
#include "cli/terminal/console.h"
#include "cli/terminal/event_patterns.h"
#include "cli/terminal/kernel_events.h"
#include "cli/terminal/presets.h"
#include "cli/trace/trace_file.h"
#include "config/trace_config.pb-c.h"

/*
 * The end of sonda record: decides whether the trace is kept, saves it, and prints the summary or
 * the reason why there is none.
 */

/* One run of sonda record. cmd_record.c fills it in and frees its members. */
struct record_command {
	struct record_options options;
	struct console console;
	struct command_child *child; /* owned; NULL: no command */
	Pb__TraceConfig *config;
	struct presets *presets; /* owned */
	struct event_requests idle; /* patterns that exclude no event */
	const char
		*tracefs_root; /* of this machine; NULL: unreadable, or the service is elsewhere */
	struct tracefs_events events; /* of this kernel; n is 0 if not readable or not needed */
	bool is_local; /* the service runs on this machine */
	struct output_name output; /* as shown to the user */
	char first_file[PATH_MAX]; /* first file of a rotation; "": there is one file only */
	bool passes_file; /* the service writes into our file, not into one of its own */
	bool streams; /* the trace is written to the file during the recording */
	uint64_t max_bytes; /* limit of that file; 0: none */
	uint64_t written; /* bytes that the service wrote */
	bool unread; /* this process cannot read the file that the service wrote */
	struct err_text end; /* why the recording ended, for the summary */
	const struct host_output *host; /* borrowed: of --agent; NULL: an ordinary recording */
	const char *snapshots; /* path of the snapshots that triggers make; NULL: one trace */
	struct trace_file *file;
	struct recording_result result;
};

/* Ends the run after recording_run(), which returned error (0 or -errno) and set why. Prints why,
 * saves or removes the trace, and prints the summary. Returns the exit code. */
int record_end(struct record_command *c, int error, const struct err_text *why);

/* Returns true if the config names a file that the service itself creates (output_path). */
bool record_command_has_path(const struct record_command *c);
/* Returns true if the recording is about ftrace: its other data sources, if any, only name
 * processes for the events. */
bool record_command_needs_ftrace(const struct record_command *c);
/* Returns true if a user without root's capabilities could record nothing: only kernel events, and
 * what BPF programs count. */
bool record_command_needs_capabilities(const struct record_command *c);
