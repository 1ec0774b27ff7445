/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/store/store.h"

/*
 * Stored sets of arguments: of slices, tracks, processes, counters, and of kernel events whose
 * arguments are not decoded when a query reads them. Equal sets are stored once. The id of a stored
 * set is the row of TABLE_ARGS that has its first argument.
 */

#define ARG_SET_MAX 1024u /* most arguments of a set; more are left out */

struct stored_arg {
	uint32_t key, flat_key; /* strings */
	enum arg_type type;
	int64_t value; /* an integer, a string id (NULL_U32: NULL), or the bits of a double */
};

/* The arguments of a set that is being made. Zero-initialise; free(b->args) frees. */
struct arg_builder {
	struct stored_arg *args;
	size_t n, cap;
};

/* Adds an argument. An existing key keeps its position and gets the new value. Sets the budget's
 * error if out of memory. */
void arg_builder_add(struct store *s, struct arg_builder *b, const struct stored_arg *a);
void arg_builder_add_int(struct store *s, struct arg_builder *b, const char *key,
			 enum arg_type type, int64_t v);

/* Stores the set and empties the builder. Returns the id of the set, or NULL_U32 if it is empty or
 * the trace has too many arguments. If out of memory, it sets the budget's error. */
uint32_t arg_sets_add(struct store *s, struct arg_builder *b);

/* Lists the arguments of any set, also of a kernel event or a system call. Empties the list first;
 * the caller frees ret->args. Returns 0 or -ENOMEM; an id that is not that of a set gives no
 * arguments. */
int arg_sets_list(const struct store *s, int64_t set, struct arg_list *ret);

/* Returns the name of an argument's type, as `args` shows it. Static memory. */
const char *arg_type_name(enum arg_type type);
