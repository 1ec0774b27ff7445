/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/report/event_reader.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/store/arg_sets.h"
#include "analyze/store/event_args.h"

static uint8_t find_event_name(const char *name, const char *const *names, size_t n)
{
	for (size_t i = 0; name && i < n; i++)
		if (!strcmp(names[i], name))
			return (uint8_t)(i + 1);
	return 0;
}

uint8_t *event_reader_kinds(const struct store *s, const char *const *names, size_t n)
{
	uint8_t *kinds = calloc(UINT16_MAX + 1, sizeof(*kinds));

	for (uint32_t i = 0; kinds && i < GENERIC_KINDS; i++)
		kinds[i] = find_event_name(event_args_known_name(i), names, n);
	for (size_t i = 0; kinds && i < s->n_generic; i++)
		kinds[GENERIC_KINDS + i] =
			find_event_name(strings_get(&s->strings, s->generic[i].name), names, n);
	return kinds;
}

bool event_reader_args(const struct store *s, uint32_t row, struct arg_list *list)
{
	return arg_sets_list(s, event_args_set_id(s, row), list) == 0;
}

const struct arg *event_reader_find(const struct arg_list *list, const char *key)
{
	size_t len = strlen(key);

	for (size_t i = 0; i < list->n; i++)
		if (list->args[i].key_len == len && !memcmp(list->args[i].key, key, len))
			return &list->args[i];
	return NULL;
}

int64_t event_reader_int(const struct arg_list *list, const char *key)
{
	const struct arg *a = event_reader_find(list, key);

	return a && (a->type == ARG_INT || a->type == ARG_UINT) ? a->i : 0;
}
