/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Distinct names in the order they came, with limits, for text that a trace brings along. */

#define NAME_LIST_MAX 4096
#define NAME_LIST_MAX_LEN 255 /* bytes of a name that are kept */
#define NAME_LIST_MAX_TEXT 2047 /* bytes of a text of several lines */

/* Zero-initialise; name_list_deinit frees. */
struct name_list {
	char **names; /* owned, each owned */
	size_t n;
	size_t cap;
	size_t left_out; /* names past the limit, or that memory was missing for */
};

void name_list_deinit(struct name_list *l);
/* Adds a copy (cut, made plain as by str_make_plain) unless it is there. The second keeps tabs and
 * line ends. */
void name_list_add(struct name_list *l, const uint8_t *name, size_t len);
void name_list_add_text(struct name_list *l, const uint8_t *text, size_t len);
bool name_list_has(const struct name_list *l, const char *name);
