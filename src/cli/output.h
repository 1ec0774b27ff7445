/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

struct trace_file;

/* The file of -o, or, without one, KIND-HOST-TIME.pftrace in this folder. */

struct output_name {
	char text[320]; /* for the person */
};

/* path NULL: our own name. 0; or -errno with the sentence in e, -ENOTTY for "-" on a terminal. */
int output_open(const char *path, const char *kind, struct output_name *ret_name,
		struct trace_file **ret, struct err_text *e);
