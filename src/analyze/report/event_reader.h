/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/store/store.h"

/* Helpers with which passes read kernel events by the names of events and arguments. */

/* Returns for each FTRACE_KIND 1 + the index of its event's name among n names, or 0. The caller
 * frees it. NULL if out of memory. */
uint8_t *event_reader_kinds(const struct store *s, const char *const *names, size_t n);
/* Reads the arguments of a row of ftrace_event. Returns false if out of memory. */
bool event_reader_args(const struct store *s, uint32_t row, struct arg_list *list);
/* Returns an argument that is a number, or 0 if there is none. */
int64_t event_reader_int(const struct arg_list *list, const char *key);
/* Returns an argument of any type, or NULL. */
const struct arg *event_reader_find(const struct arg_list *list, const char *key);
