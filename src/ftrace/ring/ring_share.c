/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/ring/ring_share.h"

#include <stdbool.h>

#include "base/core/mem.h"

/* The shares of all sessions of this process. */
static LIST_HEAD(, ring_share) ring_shares = LIST_HEAD_INITIALIZER(ring_shares);

enum ring_limit { RING_LIMIT_ALL, RING_LIMIT_OTHERS, RING_LIMIT_USER, RING_LIMITS };

static const struct {
	unsigned sixteenths; /* of the memory */
	const char *whose;
} ring_limits[RING_LIMITS] = {
	[RING_LIMIT_ALL] = {4, "all recordings"},
	[RING_LIMIT_OTHERS] = {3, "users other than root"},
	[RING_LIMIT_USER] = {2, "a user other than root"},
};

static bool ring_limit_applies(enum ring_limit limit, uint32_t of, uint32_t uid)
{
	return limit == RING_LIMIT_ALL || (of != 0 && (limit == RING_LIMIT_OTHERS || of == uid));
}

/* Returns the bytes that the limit leaves for one more session of the user. */
static uint64_t ring_limit_left(enum ring_limit limit, uint32_t uid, uint64_t ram)
{
	uint64_t most = ram / 16 * ring_limits[limit].sixteenths, used = 0;
	const struct ring_share *s;

	if (!ring_limit_applies(limit, uid, uid))
		return UINT64_MAX;
	LIST_FOREACH (s, &ring_shares, link)
		if (ring_limit_applies(limit, s->uid, uid))
			used += s->bytes;
	return most - MIN(used, most);
}

void ring_share_reserve(struct ring_share *s, uint32_t uid, const struct ftrace_machine *machine,
			uint32_t *kb, struct setup_errors *errors)
{
	uint64_t cpus = MAX(machine->cpus, 1u), least = UINT64_MAX, most;
	enum ring_limit tightest = RING_LIMIT_ALL;

	for (enum ring_limit i = 0; i < RING_LIMITS; i++) {
		uint64_t left = ring_limit_left(i, uid, machine->ram_bytes);

		if (left < least) {
			least = left;
			tightest = i;
		}
	}
	most = MAX(least / 1024 / cpus, RING_SHARE_LEAST_KB);
	if (*kb > most) {
		setup_error_add(errors,
				"option:buffer_size_kb (%u: the rings of %s may have %u/16 of the "
				"machine's memory; %u is used)",
				*kb, ring_limits[tightest].whose, ring_limits[tightest].sixteenths,
				(uint32_t)most);
		*kb = (uint32_t)most;
	}
	s->uid = uid;
	s->bytes = cpus * *kb * 1024;
	LIST_INSERT_HEAD(&ring_shares, s, link);
}

void ring_share_release(struct ring_share *s)
{
	if (!s->bytes)
		return;
	LIST_REMOVE(s, link);
	s->bytes = 0;
}
