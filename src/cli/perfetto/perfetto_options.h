/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text/str.h"
#include "config/trace_config.pb-c.h"

/* The command line of Perfetto's perfetto (version 56). Strings are borrowed from argv. */

struct perfetto_list {
	const char **names; /* owned array */
	size_t n, cap;
};

struct perfetto_options {
	const char *program; /* argv[0] */
	const char *config; /* -c: a path, "-" or ":test" */
	struct strbuf config_text; /* its contents; empty counts as no config, as with Perfetto */
	const char *out; /* -o: a path or "-" */
	bool text, lossy_text; /* --txt, --txt-lossy */
	bool no_clobber;
	const char *time, *buffer, *size; /* -t, -b, -s: as typed */
	struct perfetto_list apps, words, notes;
	bool background, background_wait; /* -d, -D */
	int notify_fd; /* -1: none */
	bool clone;
	uint64_t clone_id;
	const char *clone_name;
	bool clone_for_bugreport, save_for_bugreport, save_all_for_bugreport;
	bool query, query_raw, query_long;
	const char *attach, *detach, *is_detached;
	bool stop;
	int64_t alert_id, config_id, config_uid, subscription_id;
};

/* Parses, reads the config, and checks. Returns -1 to continue, else the exit code; what was wrong
 * is printed. */
int perfetto_options_parse(int argc, char **argv, struct perfetto_options *ret);
void perfetto_options_deinit(struct perfetto_options *o);

/* Prints a line "[123.456] perfetto: text" on stderr, as Perfetto does, but without the source
 * line. */
void perfetto_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Makes the config of the command line: that of -c, or the one that the shorthand options stand
 * for. Returns -1 and sets *ret, which the caller frees; else the exit code, after printing the
 * error. */
int perfetto_config_make(const struct perfetto_options *o, Pb__TraceConfig **ret);
