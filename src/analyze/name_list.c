/* SPDX-License-Identifier: Apache-2.0 */
/* Name lists are short (misspelt event names), so a linear search suffices. */

#include "analyze/name_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/str.h"

void name_list_deinit(struct name_list *l)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		free(l->names[i]);
	free(l->names);
	*l = (struct name_list){0};
}

bool name_list_has(const struct name_list *l, const char *name)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		if (!strcmp(l->names[i], name))
			return true;
	return false;
}

static void add_plain_name(struct name_list *l, const uint8_t *text, size_t len, const char *keep)
{
	_cleanup_(freep) char *s = malloc(len + 1);

	if (!s) {
		l->left_out++;
		return;
	}
	memcpy(s, text, len);
	s[len] = '\0';
	str_make_plain(s, len, keep);
	if (name_list_has(l, s))
		return;
	if (l->n >= NAME_LIST_MAX || array_reserve(&l->names, &l->cap, l->n + 1, sizeof(char *))) {
		l->left_out++;
		return;
	}
	l->names[l->n++] = TAKE_PTR(s);
}

void name_list_add(struct name_list *l, const uint8_t *name, size_t len)
{
	add_plain_name(l, name, MIN(len, (size_t)NAME_LIST_MAX_LEN), "");
}

void name_list_add_text(struct name_list *l, const uint8_t *text, size_t len)
{
	add_plain_name(l, text, MIN(len, (size_t)NAME_LIST_MAX_TEXT), "\n\t");
}
