/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/core/err.h"

/* What to do when the tracing service or its producer cannot be used: commands for this machine.
 * Strings are static. */

/* Returns the command that starts sonda-probes. */
const char *service_start_probes(void);
/* Sets e: no producer of the service offers kernel events, and the remedy. Returns -ENOENT. */
int service_lacks_ftrace(struct err_text *e);
/* Returns the command that allows a user who is not root to record. */
const char *service_join_or_sudo(void);

/*
 * Explains why no service was reached at address. error: -errno of the connection. Sets *ret_text
 * to the finding and *ret_remedy to the command that helps, "" for none. Returns false and sets
 * nothing if error is not explained here.
 */
bool service_problem(const char *address, int error, struct err_text *ret_text,
		     struct err_text *ret_remedy);

/*
 * Sets e to "no tracing service is running, so WHAT" if error says that none listens on the default
 * address, which address (NULL: the default) must be: to start one would not help a verb for
 * sessions that exist. Leaves e for another error. Returns error.
 */
int service_has_no_sessions(const char *address, int error, struct err_text *e, const char *what,
			    ...) __attribute__((format(printf, 4, 5)));

/* Sets e to finding and remedy of service_problem(), else to the text of error. Returns error. */
int service_explain(const char *address, int error, struct err_text *e);
