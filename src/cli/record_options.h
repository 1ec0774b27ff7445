/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* The command line of `sonda record`, checked for itself. Strings are borrowed from argv. */
struct record_options {
	bool help; /* asked for; nothing else is set then */

	/* Either a config file ... */
	const char *config; /* path, or "-" for stdin; NULL: shorthand */
	bool config_is_text; /* whatever it looks like */

	/* ... or shorthand. */
	char **events; /* words as typed: sched, group/name, group:name, group/ *, name, globs */
	size_t n_events;
	uint32_t duration_ms; /* 0: until Ctrl-C */
	uint32_t buffer_kb; /* central buffer */
	uint32_t ring_kb; /* kernel ring of each CPU; 0: the producer's choice */

	const char *output; /* path, "-" for stdout; NULL: a name made of host and time */
	const char *socket; /* of the service, which then must be there; NULL: the usual places */
	bool strict;
	bool quiet;
};

extern const char record_usage[];

/* 0, or -EINVAL with the sentence in e. Sorts argv: options first. */
int record_options_parse(int argc, char **argv, struct record_options *ret, struct err_text *e);
