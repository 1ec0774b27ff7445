/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>
#include <stdint.h>

/*
 * Reports on a trace of several machines: temporary views hide the rows of the other machines from
 * the statements, and CPUs have the numbers of their machine. Functions return an SQLite result
 * code.
 */

#define MACHINES_MAX 64
#define MACHINES_ALL INT64_C(-1)

/* Which rows the passes of passes.h count. They read the table `chosen` again after a change. */
struct machine_scope {
	int64_t machine; /* a row of the table machine, or MACHINES_ALL */
	unsigned changes; /* the caller increments it after a change */
};

struct machine_list {
	int64_t ids[MACHINES_MAX]; /* of the table machine */
	int n;
	int of_trace; /* rows of the table machine */
};

/* Lists the machines that have threads or tracks. */
int machines_list(sqlite3 *db, struct machine_list *ret);

/* Makes views that hide the rows of all machines but one. Replaces the views of an earlier call. */
int machines_restrict_to(sqlite3 *db, int64_t id);

/* Returns a line with the number and the kernel of a machine, owned by the caller, or NULL for an
 * unknown id or if out of memory. */
char *machines_title(sqlite3 *db, int64_t id);
