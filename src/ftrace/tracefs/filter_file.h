/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/core/err.h"
#include "ftrace/tracefs/instance.h"

/*
 * The file `filter` of one event: an expression in the kernel's language, such as
 * `prev_comm ~ "ssh*" && prev_prio < 120`, and the kernel's own words where it refuses one.
 */

/*
 * Only such records of the event pass from now on. 0, or -errno with e: the kernel's reason, and
 * the expression with a ^ before the character that it stopped at; -ENOENT: there is no such file.
 * A refused expression leaves the event without any.
 */
int filter_file_write(const struct instance *i, const char *group, const char *name,
		      const char *filter, struct err_text *e);
/* What filter_file_write says of a refusal: left is the file's text after it (changed; NULL: it
 * cannot be read). Gives error. */
int filter_file_explain(char *left, const char *filter, int error, struct err_text *e);
/* Everything passes again. */
void filter_file_clear(const struct instance *i, const char *group, const char *name);

/* A filter as somebody wrote it, on one line and without blanks around; NULL: memory is out. The
 * caller frees. */
char *filter_clean(const char *filter);
/* What passes both, for the caller to free; a NULL: what passes b. NULL: memory is out. */
char *filter_both(const char *a, const char *b);
