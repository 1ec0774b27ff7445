/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/core/err.h"
#include "ftrace/tracefs/instance.h"

/*
 * The file `filter` of one event: an expression in the kernel's syntax, such as `prev_comm ~
 * "ssh*" && prev_prio < 120`, and the kernel's reason if it refuses one.
 */

/* Sets the filter of an event. Returns 0, or -errno with e: the kernel's reason, and the
 * expression with a ^ before the character at which parsing stopped. Returns -ENOENT if the file
 * does not exist. After a refused expression the event has no filter. */
int filter_file_write(const struct instance *i, const char *group, const char *name,
		      const char *filter, struct err_text *e);
/* Removes the filter. */
void filter_file_clear(const struct instance *i, const char *group, const char *name);

/* Returns a copy on one line, without surrounding blanks. The caller frees it. Returns NULL if out
 * of memory. */
char *filter_normalize(const char *filter);
/* Returns the conjunction of two filters; a may be NULL. The caller frees it. Returns NULL if out
 * of memory. */
char *filter_make_conjunction(const char *a, const char *b);
