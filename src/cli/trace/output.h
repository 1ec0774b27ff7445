/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/core/err.h"

struct trace_file;

/* The file of -o, or, without one, KIND-HOST-TIME-RANDOM.pftrace in this folder. */

struct output_name {
	char text[320]; /* for the person */
};

/* Our own name, in this folder. 0, or -errno with the sentence in e. */
int output_name(const char *kind, struct output_name *ret, struct err_text *e);

/* path NULL: our own name. 0; or -errno with the sentence in e, -ENOTTY for "-" on a terminal. */
int output_open(const char *path, const char *kind, struct output_name *ret_name,
		struct trace_file **ret, struct err_text *e);
