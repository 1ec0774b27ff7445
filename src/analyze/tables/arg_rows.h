/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/store/store.h"

/* The rows of the table `args`: arguments of stored sets first, then those of system calls and of
 * kernel events, decoded set by set. */
enum arg_column {
	ARG_COLUMN_ID,
	ARG_COLUMN_SET,
	ARG_COLUMN_FLAT_KEY,
	ARG_COLUMN_KEY,
	ARG_COLUMN_INT,
	ARG_COLUMN_STRING,
	ARG_COLUMN_REAL,
	ARG_COLUMN_TYPE,
	ARG_COLUMN_DISPLAY,
	ARG_COLUMNS
};

/* A place in the rows. Set `store`, the rest is zero; arg_rows_deinit() frees. */
struct arg_rows {
	const struct store *store; /* borrowed */
	struct arg_list list; /* arguments of `set`; list.args is owned */
	int64_t set;
	size_t at; /* in the list */
	uint32_t row; /* of TABLE_FTRACE: the next kernel event */
	bool done;
	char display[40]; /* the text form of a value that is not a text */
};

/* Go to the first row; to the next one; to the first row of a set, which has an argument. At the
 * end `done` is set. Return 0 or -ENOMEM. */
int arg_rows_begin(struct arg_rows *r);
int arg_rows_next(struct arg_rows *r);
int arg_rows_begin_set(struct arg_rows *r, int64_t set);
void arg_rows_deinit(struct arg_rows *r);

/* Returns the id of the current row. */
int64_t arg_rows_id(const struct arg_rows *r);
/* Returns the set that has the argument with an id; -1 if there is none. */
int64_t arg_rows_find_set(const struct store *s, int64_t id);
/* Reads a column of the row. A text of ARG_COLUMN_DISPLAY is valid until the next call, any
 * other text as long as the store exists. */
void arg_rows_value(struct arg_rows *r, enum arg_column column, struct value *ret);
