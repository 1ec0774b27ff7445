/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>
#include <time.h>

/* Clocks in nanoseconds. */

#define NS_PER_MS 1000000ull
#define NS_PER_S 1000000000ull

static inline uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Returns the time of CLOCK_BOOTTIME, the time base of every packet. */
static inline uint64_t clock_boot_ns(void)
{
	return clock_ns(CLOCK_BOOTTIME);
}

static inline uint64_t clock_mono_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* Returns the milliseconds until CLOCK_MONOTONIC reaches the next multiple of period_ms (not 0):
 * 1..period_ms. Ticks of several programs then coincide and wake the machine once. */
uint32_t clock_ms_to_tick(uint32_t period_ms);
