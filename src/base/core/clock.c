/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/clock.h"

#include <assert.h>

uint32_t clock_ms_to_tick(uint32_t period_ms)
{
	uint64_t now_ms = clock_mono_ns() / NS_PER_MS;

	assert(period_ms > 0);
	return period_ms - (uint32_t)(now_ms % period_ms);
}
