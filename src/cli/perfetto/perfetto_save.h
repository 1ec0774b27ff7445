/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "client/transport/consumer.h"
#include "common/observable_events.pb-c.h"
#include "common/trace_stats.pb-c.h"
#include "common/tracing_service_state.pb-c.h"
#include "config/trace_config.pb-c.h"

struct session_client;
struct trace_file;

/*
 * Saves data of the service to files. Each function returns the exit code, and prints the result in
 * Perfetto's words. If the service refuses, the exit code is 0, as with Perfetto.
 */

/* Connects. Returns -1 and sets *ret, which the caller frees; else the exit code. */
int perfetto_connect(struct session_client **ret);

/* Prints an error of the service. Returns 0, the exit code if the service refuses. */
int perfetto_print_service_error(const char *why);

/* Reads the session of client into file, and gives the file its final name. name: of the file, for
 * the message. */
int perfetto_save(struct session_client *client, struct trace_file *file, const char *name);
/* The same for a file that the service has written; NULL: the service created it (output_path). */
int perfetto_save_written(struct trace_file *file);

/* Writes the clone of a session into file, with a connection of its own. */
int perfetto_clone(const struct consumer_clone_request *request, struct trace_file *file,
		   const char *name);

/* Bug reports: clones of the sessions with a bugreport_score, without their trace_filter, in the
 * directory TMPDIR (/tmp). _for_bugreport() writes the one with the highest score as
 * systrace.pftrace, _all_for_bugreport() each as its bugreport_filename. */
int perfetto_save_for_bugreport(void);
int perfetto_save_all_for_bugreport(void);

/* Writes the snapshot number n of CLONE_SNAPSHOT as path.n. */
int perfetto_save_snapshot(const Pb__ObservableEvents__CloneTriggerHit *hit, const char *path,
			   unsigned n);
