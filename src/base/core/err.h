/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Errors of this project.
 *
 *   0          success
 *   negative   -errno: unexpected, passed up unchanged
 *   positive   a code of the module's own enum, which the caller must handle
 *
 * Outputs are the last parameters, have the prefix ret_, and are not written on failure. A function
 * whose failure the user must understand also takes a struct err_text.
 */

/* For the user: what failed and, if there is one, the remedy. One sentence, or a part that the
 * caller puts into its own. No newline. No full stop, except in sentences of the protocol. */
struct err_text {
	char text[512];
};

/* Writes the sentence, cut to fit, and returns code, so that `return err_set(e, -EINVAL, ...)`
 * works. e may be NULL. */
int err_set(struct err_text *e, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
