/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/record/command_child.h"
#include "cli/record/option_values.h"
#include "cli/terminal/console.h"
#include "cli/terminal/kernel_events.h"
#include "cli/trace/trace_file.h"
#include "config/trace_config.pb-c.h"

/* The parameters of a recording (cli/record/recording.h). */

/* Set by the caller, borrowed while recording_run runs. */
struct recording_setup {
	Pb__TraceConfig *config; /* its threads are listed again just before the start */
	const struct pid_list *pids; /* the processes of -p; n is 0 without -p */
	struct command_child *command; /* NULL: there is none */
	const char *socket; /* address of a running service; NULL: default, or a private one */
	const char *detach; /* key of the detached session, which continues in a running service */
	const struct tracefs_events
		*events; /* of this machine's kernel; NULL unknown, or not needed */
	const char
		*tracefs_root; /* of this machine; NULL: unreadable, or the service is elsewhere */
	unsigned same_signal_ms; /* see cli/terminal/signals.h */
	bool from_words; /* there is no -c: advice names options */
	bool needs_ftrace; /* without linux.ftrace nothing would be recorded */
	bool needs_capabilities; /* without root's capabilities nothing would be recorded */
	struct trace_file *file; /* NULL: snapshots are saved instead */
	bool passes_file; /* the service writes into the file; this process reads nothing */
	bool streams; /* the trace is streamed into the file */
	uint64_t max_bytes; /* of a file that this process writes; 0: no limit */
	const char *snapshots; /* path of the snapshots (cli/record/snapshots.h); NULL: none */
	struct console *console;
};
