/* SPDX-License-Identifier: Apache-2.0 */
#include "service/session/trigger_history.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/core/siphash.h"
#include "service/ipc/limits.h"

#define WINDOW_NS (24 * 3600 * NS_PER_S)

struct trigger_hit {
	uint64_t boot_ns;
	uint64_t name; /* keyed hash: no producer can find another name with it */
};

static uint64_t trigger_history_hash(const char *name)
{
	return siphash_keyed(name, strlen(name));
}

static void trigger_history_remove(struct trigger_history *h, size_t i)
{
	h->n--;
	memmove(&h->hits[i], &h->hits[i + 1], (h->n - i) * sizeof(h->hits[0]));
}

static void remove_old_triggers(struct trigger_history *h, uint64_t now)
{
	size_t old = 0;

	while (old < h->n && now - h->hits[old].boot_ns >= WINDOW_NS)
		old++;
	h->n -= old;
	if (old > 0)
		memmove(h->hits, h->hits + old, h->n * sizeof(h->hits[0]));
}

/* Returns the hits of a trigger. Sets *ret_oldest to the index of the oldest, if there is one. */
static size_t count_hits(const struct trigger_history *h, uint64_t name, size_t *ret_oldest)
{
	size_t n = 0;

	for (size_t i = h->n; i-- > 0;)
		if (h->hits[i].name == name) {
			*ret_oldest = i;
			n++;
		}
	return n;
}

size_t trigger_history_count(struct trigger_history *h, const char *name, uint64_t boot_ns)
{
	size_t oldest;

	remove_old_triggers(h, boot_ns);
	return count_hits(h, trigger_history_hash(name), &oldest);
}

bool trigger_history_add(struct trigger_history *h, const char *name, uint64_t boot_ns)
{
	struct trigger_hit hit = {.boot_ns = boot_ns, .name = trigger_history_hash(name)};
	size_t oldest = 0, n;

	remove_old_triggers(h, boot_ns);
	n = h->n;
	if (count_hits(h, hit.name, &oldest) >= MAX_TRIGGER_HITS_PER_NAME)
		trigger_history_remove(h, oldest);
	else if (h->n >= MAX_TRIGGER_HITS)
		trigger_history_remove(h, 0);
	if (array_reserve(&h->hits, &h->cap, h->n + 1, sizeof(h->hits[0])) == 0)
		h->hits[h->n++] = hit;
	return h->n == n;
}

void trigger_history_deinit(struct trigger_history *h)
{
	free(h->hits);
	*h = (struct trigger_history){0};
}
