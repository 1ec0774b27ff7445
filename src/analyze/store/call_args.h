/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "analyze/store/store.h"

/*
 * Arguments of the slices of system calls: those of sys_enter, and `ret` of sys_exit. They are
 * decoded from these two events when they are read. A set is a row of TABLE_CALL; its id is
 * CALL_SETS + that row.
 */

#define CALL_SETS TABLE_HIGH_VALUES
#define CALL_ARGS_MAX 16u /* of sys_enter; what is above is left out */

/* The ids of arguments: those of stored ones are below, those of kernel events begin at
 * FTRACE_ARGS_BASE. */
#define CALL_ARG_IDS ((int64_t)1 << 38)
#define CALL_ARG_STRIDE 32

static inline bool call_args_is_set(int64_t set)
{
	return set >= CALL_SETS && set < NULL_U32;
}

/* Adds a set. A row of TABLE_FTRACE is NULL_U32 if the trace has no such event. Returns NULL_U32 if
 * there are too many. */
uint32_t call_args_add(struct store *s, uint32_t enter, uint32_t exit);

/* As arg_sets_list(), for a set of a system call. */
int call_args_list(const struct store *s, int64_t set, struct arg_list *ret);

/* Returns what a row of TABLE_FTRACE, a sys_exit, says that the call returned. */
int64_t call_args_returned(const struct store *s, uint32_t exit);

/* Returns what the call of a set returned, or NULL_I64 if that is not known. */
int64_t call_args_result(const struct store *s, int64_t set);
