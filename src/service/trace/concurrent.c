/* SPDX-License-Identifier: Apache-2.0 */
#include "service/trace/concurrent.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "service/ipc/limits.h"

bool concurrent_add(struct concurrent_events *c, const struct concurrent_event *event)
{
	size_t at;

	if (c->n >= MAX_CONCURRENT_EVENTS)
		return false;
	if (array_reserve(&c->list, &c->cap, c->n + 1, sizeof(c->list[0])) < 0)
		return true;
	for (at = c->n; at > 0 && c->list[at - 1].boot_ns > event->boot_ns; at--)
		;
	memmove(&c->list[at + 1], &c->list[at], (c->n++ - at) * sizeof(*event));
	c->list[at] = *event;
	c->list[at].name = event->name ? strdup(event->name) : NULL;
	return true;
}

void concurrent_clear(struct concurrent_events *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->list[i].name);
	c->n = 0;
}

void concurrent_deinit(struct concurrent_events *c)
{
	concurrent_clear(c);
	free(c->list);
}
