/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "analyze/store/store.h"
#include "wire/pb_read.h"

/*
 * Arguments of kernel events. They are decoded from the trace when a query reads them: most are
 * never read. Rows are of TABLE_FTRACE.
 */

/* Returns the name of the event whose field in FtraceEvent has this number, or NULL if this version
 * knows no such event. */
const char *event_args_known_name(uint32_t number);

/* Sets the name of a row's event. Leaves *ret if the name is not known. */
void event_args_name(const struct store *s, uint32_t row, struct value *ret);

/* Returns the row's arg_set_id, or -1 if it has no arguments. */
int64_t event_args_set_id(const struct store *s, uint32_t row);

/* Returns a decoder of the event's message if the row has PAYLOAD_RAW, else of an empty message. */
struct pb_dec event_args_message(const struct store *s, uint32_t row);

/* Looks up an argument by name. number: the event's field in FtraceEvent. Sets the number of the
 * argument's field in the event's message, 0 if the event has no such argument or is not known.
 * Returns false if the caller must use event_args_list(): for sched_switch, and for a float or
 * double. */
bool event_args_find_field(uint32_t number, const char *name, uint32_t *ret_number,
			   bool *ret_is_text);

/* Lists the arguments of a set of a kernel event, as arg_sets_list(). Returns 0 or -ENOMEM. */
int event_args_list(const struct store *s, int64_t set, struct arg_list *ret);

/* Returns the description of the further fields of a known event on a machine, or NULL. */
const struct generic_event *event_args_find_description(const struct store *s, uint32_t machine,
							uint32_t number);

/* Returns true if the trace describes a further field of this name of a known event, on any
 * machine. */
bool event_args_has_description(const struct store *s, uint32_t number, const char *name);

/* Lists the arguments in an event's message, after emptying the list. described: the event's
 * description. For an event that this version knows by its number, it describes only the further
 * fields, or is NULL. Returns 0 or -ENOMEM. */
int event_args_decode(const struct store *s, uint32_t number, const struct generic_event *described,
		      const uint8_t *data, size_t len, struct arg_list *ret);

/*
 * Arguments of the slices of system calls: those of sys_enter, and `ret` of sys_exit. They are
 * decoded from these two events when a query reads them. A set is a row of TABLE_CALL; its id is
 * CALL_SETS + that row.
 */

#define CALL_SETS TABLE_HIGH_VALUES

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

/* Returns the result of the call that a sys_exit (a row of TABLE_FTRACE) ended; 0 if the event has
 * none. */
int64_t call_args_result_of_exit(const struct store *s, uint32_t exit);

/* Returns what the call of a set returned, or NULL_I64 if that is not known. */
int64_t call_args_result(const struct store *s, int64_t set);
