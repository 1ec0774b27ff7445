// SPDX-License-Identifier: Apache-2.0
#include "ftrace/options/traced_cpus.h"

#include <errno.h>
#include <string.h>

#include "base/core/mem.h"

#define SHOWN 80 /* of a mask that is no good */

static int refuse(const struct setup *s, const char *why)
{
	report_problem(s->reports, "nothing is recorded: tracing_cpumask \"%.*s\": %s", SHOWN,
		       s->config->tracing_cpumask, why);
	return -EINVAL;
}

/* Words of one to eight digits. */
static bool is_mask(const char *mask)
{
	for (;;) {
		size_t digits = strspn(mask, "0123456789abcdefABCDEF");

		if (digits < 1 || digits > 8)
			return false;
		mask += digits;
		if (*mask != ',')
			return *mask == '\0';
		mask++;
	}
}

int traced_cpus_set(const struct setup *s)
{
	const char *mask = s->config->tracing_cpumask;
	int r;

	if (!mask || !*mask)
		return 0;
	if (!is_mask(mask))
		return refuse(s, "these are not hexadecimal words of up to 8 digits, such as "
				 "00000001,ffffffff");
	if (mask[strspn(mask, "0,")] == '\0')
		return refuse(s, "it names no CPU");
	r = instance_write(s->instance, "tracing_cpumask", mask);
	switch (r) {
	case 0:
		return 0;
	case -EOVERFLOW:
		return refuse(s, "it names CPUs that this machine does not have");
	default:
		return refuse(s, strerror(-r));
	}
}
