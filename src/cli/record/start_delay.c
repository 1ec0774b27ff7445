/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/start_delay.h"

#include <errno.h>
#include <sys/random.h>
#include <time.h>

#include "base/core/clock.h"
#include "config/limits.h"

int start_delay_choose(const Pb__TraceConfig *config, uint32_t *ret_ms, struct err_text *e)
{
	const Pb__TraceConfig__CmdTraceStartDelay *d = config->cmd_trace_start_delay;
	uint64_t random = 0;

	*ret_ms = 0;
	if (!d)
		return 0;
	if (!d->has_min_delay_ms || !d->has_max_delay_ms)
		return err_set(e, -EINVAL,
			       "cmd_trace_start_delay needs min_delay_ms and max_delay_ms");
	if (d->min_delay_ms > d->max_delay_ms || d->max_delay_ms > LIMIT_DURATION_MS)
		return err_set(e, -EINVAL,
			       "cmd_trace_start_delay: from %u to %u ms is no time to wait",
			       d->min_delay_ms, d->max_delay_ms);
	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		random = clock_mono_ns();
	*ret_ms = d->min_delay_ms +
		  (uint32_t)(random % ((uint64_t)d->max_delay_ms - d->min_delay_ms + 1));
	return 0;
}

void start_delay_wait(uint32_t ms)
{
	struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}
