/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/store/store.h"

/*
 * Sets of arguments of slices, tracks, processes and of the kernel events that are not decoded when
 * they are read. Equal sets are stored once. A set's id is the row number of its first argument.
 */

#define ARG_SET_MAX 1024u /* arguments of a set; what is above is left out */

struct stored_arg {
	uint32_t key, flat_key; /* strings */
	enum arg_type type;
	int64_t value; /* a string id (NULL_U32: NULL), or the bits of a double */
};

/* Arguments that are collected. Zero-initialise; free(b->args) frees. */
struct arg_builder {
	struct stored_arg *args;
	size_t n, cap;
};

/* Adds an argument. A key that is there keeps its place and gets the new value. */
void arg_builder_add(struct store *s, struct arg_builder *b, const struct stored_arg *a);
void arg_builder_int(struct store *s, struct arg_builder *b, const char *key, enum arg_type type,
		     int64_t v);

/* Stores the set and empties the builder. Returns the id of the set, or NULL_U32 if it is empty, if
 * the trace has too many arguments, or without memory. */
uint32_t arg_sets_add(struct store *s, struct arg_builder *b);

/* Lists the arguments of any set, of kernel events as well. The list is emptied first. Returns 0 or
 * -ENOMEM; an id that is no set gives no arguments. */
int arg_sets_list(const struct store *s, int64_t set, struct arg_list *ret);

/* The set's type name as `args` shows it. Static memory. */
const char *arg_type_name(enum arg_type type);
