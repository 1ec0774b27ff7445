// SPDX-License-Identifier: Apache-2.0
/* Lists of this kind are short (event names with a mistake in them): a linear search will do. */

#include "analyze/name_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

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

void name_list_add(struct name_list *l, const uint8_t *name, size_t len)
{
	_cleanup_(freep) char *s = NULL;
	size_t i;

	len = MIN(len, (size_t)NAME_LIST_MAX_LEN);
	s = malloc(len + 1);
	if (!s) {
		l->left_out++;
		return;
	}
	for (i = 0; i < len; i++)
		s[i] = name[i] < 0x20 || name[i] == 0x7f ? '?' : (char)name[i];
	s[len] = '\0';
	if (name_list_has(l, s))
		return;
	if (l->n >= NAME_LIST_MAX || array_reserve(&l->names, &l->cap, l->n + 1, sizeof(char *))) {
		l->left_out++;
		return;
	}
	l->names[l->n++] = TAKE_PTR(s);
}
