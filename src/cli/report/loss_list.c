/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/loss_list.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/core/mem.h"

static void loss_list_clear(struct loss *l)
{
	strbuf_deinit(&l->text);
	strbuf_deinit(&l->advice);
}

void losses_deinit(struct losses *l)
{
	for (size_t i = 0; i < l->n; i++)
		loss_list_clear(&l->list[i]);
	loss_list_clear(&l->spare);
	free(l->list);
	*l = (struct losses){0};
}

struct loss *losses_add(struct losses *l, const char *place, uint64_t count, const char *unit)
{
	struct loss *new = &l->spare;

	if (array_reserve(&l->list, &l->cap, l->n + 1, sizeof(*l->list)) == 0)
		new = &l->list[l->n++];
	else
		loss_list_clear(new);
	*new = (struct loss){.count = count, .unit = unit};
	snprintf(new->place, sizeof(new->place), "%s", place);
	return new;
}

void losses_write(const struct losses *l, struct strbuf *lines)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct loss *one = &l->list[i];

		strbuf_printf(lines, "%s%s%s%s%s\n", one->place, one->place[0] ? ": " : "",
			      one->text.s ? one->text.s : "no memory for the details",
			      one->advice.len ? "; " : "", one->advice.len ? one->advice.s : "");
	}
}
