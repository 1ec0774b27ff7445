/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/text/str.h"

/*
 * The functions of the kernel that can be probed, by name: available_filter_functions of tracefs.
 * Making the list takes the kernel some 100 ms, so it is read when a name is wrong, and once.
 * Zero-initialise.
 */
struct function_names {
	struct strbuf text; /* names with a NUL each */
	bool is_read;
};

void function_names_deinit(struct function_names *f);

/* The function that name was meant to be, borrowed until deinit; NULL: none is near, or there is no
 * list. */
const char *function_names_nearest(struct function_names *f, const char *root, const char *name);
