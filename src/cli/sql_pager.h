/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/text/str.h"

/*
 * What a statement prints on a terminal goes through the pager if it does not fit on the screen. It
 * is kept in memory until the statement ends; if it exceeds SQL_PAGER_BYTES_MAX, all of it is
 * printed directly.
 */

#define SQL_PAGER_BYTES_MAX (16u << 20)

struct sql_pager {
	struct strbuf text;
	bool is_direct;
};

/* Returns a stream that writes to p, or NULL if memory runs out. p must not move until
 * sql_pager_close(). */
FILE *sql_pager_open(struct sql_pager *p);
/* Closes the stream, shows its text and frees it. */
void sql_pager_close(struct sql_pager *p, FILE *to);
