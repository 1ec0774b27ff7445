/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Errors of this project.
 *
 *   0          good
 *   negative   -errno: unexpected, passed up unchanged
 *   positive   a code of the module's own enum, which the caller must handle
 *
 * Outputs come last, carry the prefix ret_, and are untouched on failure. Where a person must be
 * told what to do, a function takes a struct err_text beside its return code.
 */

/* One sentence for a person: what failed, and what would help. No newline, no full stop. */
struct err_text {
	char text[512];
};

/* Writes the sentence (cut to fit) and gives back code, so that `return err_set(e, -EINVAL, ...)`
 * works. e may be NULL. */
int err_set(struct err_text *e, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
