/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A list of distinct names in the order of insertion, with limits, for text from a trace. */

#define NAME_LIST_MAX 4096
#define NAME_LIST_MAX_LEN 255 /* stored bytes of a name */
#define NAME_LIST_MAX_TEXT 2047 /* stored bytes of a text with several lines */

/* Zero-initialise; name_list_deinit frees. */
struct name_list {
	char **names; /* owned, and so is each of them */
	size_t n;
	size_t cap;
	size_t left_out; /* names past the limit, or when out of memory */
};

void name_list_deinit(struct name_list *l);
/* Adds a copy (cut, without control characters as by str_make_plain) unless the list has the name.
 * name_list_add_text() keeps tabs and line ends. */
void name_list_add(struct name_list *l, const uint8_t *name, size_t len);
void name_list_add_text(struct name_list *l, const uint8_t *text, size_t len);
bool name_list_has(const struct name_list *l, const char *name);
