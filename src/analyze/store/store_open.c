/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/store/store_open.h"

#include <stdlib.h>

#include "analyze/store/stats.h"
#include "analyze/store/table_defs.h"

void store_init(struct store *s, uint64_t limit)
{
	*s = (struct store){.budget.limit = limit};
	strings_init(&s->strings, &s->budget);
	for (unsigned i = 0; i < TABLES; i++)
		table_init(&s->tables[i], &table_defs[i], &s->budget);
	store_state_number(s, strings_intern_z(&s->strings, "Running"));
	store_state_number(s, strings_intern_z(&s->strings, "R"));
}

void store_deinit(struct store *s)
{
	for (unsigned i = 0; i < TABLES; i++)
		table_deinit(&s->tables[i]);
	for (size_t i = 0; i < s->n_generic; i++)
		free(s->generic[i].fields);
	for (size_t i = 0; i < s->n_bytes; i++)
		trace_bytes_free(&s->bytes[i]);
	stats_deinit(s);
	strings_deinit(&s->strings);
	free(s->generic);
	free(s->bytes);
	free(s->states);
	free(s->arg_slots);
	free(s->recorded);
	*s = (struct store){0};
}
