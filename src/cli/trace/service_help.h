/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/core/err.h"

/*
 * Advice for when the tracing service or its producer cannot be used: commands for this machine.
 * Strings are static.
 */

/* Returns the command that starts sonda-probes. */
const char *service_probes_start_command(void);
/* Sets e to the message that no producer of the service offers kernel events, with the remedy.
 * Returns -ENOENT. */
int service_explain_no_ftrace(struct err_text *e);
/* Returns the command that allows a user who is not root to record. */
const char *service_permission_command(void);

/* Explains why no service was reached at address. error: -errno of the connection. Sets *ret_text
 * to the finding and *ret_remedy to the command that helps, "" for none. Returns false and sets
 * nothing if error is not explained here. */
bool service_describe_problem(const char *address, int error, struct err_text *ret_text,
			      struct err_text *ret_remedy);

/* Sets e to "no tracing service is running, so WHAT" if error shows that no service listens at
 * address, and address is the default one (or NULL). It is for verbs about existing sessions, which
 * starting a service would not help. Otherwise leaves e unchanged. Returns error. */
int service_explain_no_sessions(const char *address, int error, struct err_text *e,
				const char *what, ...) __attribute__((format(printf, 4, 5)));

/* Sets e to what service_describe_problem() found and advises, or else to the text of the error.
 * Returns error. */
int service_explain(const char *address, int error, struct err_text *e);
