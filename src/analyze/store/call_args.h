/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "analyze/store/store.h"

/*
 * Arguments of the slices of system calls: those of sys_enter, and `ret` of sys_exit. They are
 * decoded from these two events when a query reads them. A set is a row of TABLE_CALL; its id is
 * CALL_SETS + that row.
 */

#define CALL_SETS TABLE_HIGH_VALUES
#define CALL_ARGS_MAX 16u /* most arguments of sys_enter; more are left out */

/* The column `id` of an argument: CALL_ARG_IDS + row of TABLE_CALL * CALL_ARG_STRIDE + place in the
 * set. Ids of stored arguments are below, ids of kernel events' arguments above. */
#define CALL_ARG_IDS ((int64_t)1 << 38)
#define CALL_ARG_STRIDE 32

static inline bool call_args_is_set(int64_t set)
{
	return set >= CALL_SETS && set < NULL_U32;
}

/* Adds a set and returns its id, or NULL_U32 if there are too many sets. enter, exit: the rows of
 * TABLE_FTRACE; NULL_U32 for an event that the trace does not have. */
uint32_t call_args_add(struct store *s, uint32_t enter, uint32_t exit);

/* Lists the arguments of a set of a system call, as arg_sets_list(). */
int call_args_list(const struct store *s, int64_t set, struct arg_list *ret);

/* Returns the call's result of a sys_exit, a row of TABLE_FTRACE; 0 if the event has none. */
int64_t call_args_result_of_exit(const struct store *s, uint32_t exit);

/* Returns what the call of a set returned, or NULL_I64 if that is not known. */
int64_t call_args_result(const struct store *s, int64_t set);
