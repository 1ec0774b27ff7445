/* SPDX-License-Identifier: Apache-2.0 */
#include "service/ipc/clock_snapshots.h"

#include <string.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "common/builtin_clock.pb-c.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/* The clocks in the order of reading: the reference first, then those that take the least time. */
static const struct {
	uint32_t id; /* BuiltinClock */
	clockid_t clock;
} clocks[] = {
	{PB__BUILTIN_CLOCK__BUILTIN_CLOCK_BOOTTIME, CLOCK_BOOTTIME},
	{PB__BUILTIN_CLOCK__BUILTIN_CLOCK_REALTIME_COARSE, CLOCK_REALTIME_COARSE},
	{PB__BUILTIN_CLOCK__BUILTIN_CLOCK_MONOTONIC_COARSE, CLOCK_MONOTONIC_COARSE},
	{PB__BUILTIN_CLOCK__BUILTIN_CLOCK_REALTIME, CLOCK_REALTIME},
	{PB__BUILTIN_CLOCK__BUILTIN_CLOCK_MONOTONIC, CLOCK_MONOTONIC},
	{PB__BUILTIN_CLOCK__BUILTIN_CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC_RAW},
};
#define TSC ARRAY_SIZE(clocks) /* index of value */
_Static_assert(TSC + 1 == CLOCK_SNAPSHOT_MAX_CLOCKS, "room for all");

#if defined(__x86_64__)
#define HAS_TSC 1
static uint64_t read_tsc(void)
{
	return __rdtsc();
}
#else
#define HAS_TSC 0
static uint64_t read_tsc(void)
{
	return 0;
}
#endif

size_t clock_snapshot_n_clocks(void)
{
	return TSC + HAS_TSC;
}

uint32_t clock_snapshot_clock_id(size_t i)
{
	return i < TSC ? clocks[i].id : PB__BUILTIN_CLOCK__BUILTIN_CLOCK_TSC;
}

void clock_snapshot_take(struct clock_snapshot *ret)
{
	for (size_t i = 0; i < TSC; i++)
		ret->value[i] = clock_ns(clocks[i].clock);
	ret->value[TSC] = read_tsc();
}

/* Returns true if a clock has drifted against CLOCK_BOOTTIME between the two snapshots. Ignores the
 * TSC, which does not count nanoseconds. */
static bool has_drifted(const struct clock_snapshot *old, const struct clock_snapshot *now)
{
	uint64_t boot = now->value[CLOCK_SNAPSHOT_BOOTTIME] - old->value[CLOCK_SNAPSHOT_BOOTTIME];

	for (size_t i = 0; i < TSC; i++) {
		int64_t drift = (int64_t)(now->value[i] - old->value[i] - boot);

		if (drift >= (int64_t)CLOCK_SNAPSHOT_MIN_DRIFT_NS ||
		    drift <= -(int64_t)CLOCK_SNAPSHOT_MIN_DRIFT_NS)
			return true;
	}
	return false;
}

void clock_snapshots_add(struct clock_snapshots *c, const struct clock_snapshot *now)
{
	const struct clock_snapshot *newest = c->n > 0	       ? &c->ring[c->n - 1]
					      : c->has_initial ? &c->initial
							       : NULL;

	if (newest && !has_drifted(newest, now))
		return;
	if (c->n == CLOCK_SNAPSHOT_RING)
		memmove(&c->ring[0], &c->ring[1], --c->n * sizeof(c->ring[0]));
	c->ring[c->n++] = *now;
}

void clock_snapshots_clear(struct clock_snapshots *c)
{
	c->has_initial = false;
	c->n = 0;
}
