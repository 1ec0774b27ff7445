/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/store/store.h"
#include "wire/pb_dec.h"

/*
 * Arguments of kernel events, decoded from the bytes of the trace when they are read: most of them
 * never are. Rows are of TABLE_FTRACE.
 */

/* Returns the name of the event's number, or NULL if this version knows no such event. */
const char *event_args_known(uint32_t number);

void event_args_name(const struct store *s, uint32_t row, struct value *ret);

/* Returns the row's arg_set_id, or -1 if it has no arguments. */
int64_t event_args_set(const struct store *s, uint32_t row);

/* Returns the message of a row whose arguments are in the trace, else an empty one. */
struct pb_dec event_args_message(const struct store *s, uint32_t row);

/* Sets the number in messages of an argument of an event that this version knows: 0 if the event
 * has none of that name. Returns false if the argument cannot be read from the message by its
 * number. */
bool event_args_field(uint32_t number, const char *name, uint32_t *ret_number, bool *ret_is_text);

/* As arg_sets_list(), for a set of a kernel event. */
int event_args_list(const struct store *s, int64_t set, struct arg_list *ret);

/* Lists the arguments in an event's message. generic: its description; NULL: the event is known by
 * number. */
int event_args_decode(const struct store *s, uint32_t number, const struct generic_event *generic,
		      const uint8_t *data, size_t len, struct arg_list *ret);
