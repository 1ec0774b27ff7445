// SPDX-License-Identifier: Apache-2.0

#include "cli/record/progress.h"

#include <stdio.h>
#include <string.h>

#include "base/text/str.h"

char *progress_format(const struct progress *p, char buf[static PROGRESS_MAX])
{
	char number[32], of[32] = "";
	size_t n;

	if (p->duration_ms)
		snprintf(of, sizeof(of), " of %.4g s", (double)p->duration_ms / 1000);
	n = (size_t)snprintf(
		buf, PROGRESS_MAX, "  %llu s%s",
		(unsigned long long)(p->elapsed_ms / 1000 + (p->elapsed_ms % 1000 >= 500)), of);
	if (p->has_events)
		n += (size_t)snprintf(buf + n, PROGRESS_MAX - n, "   %s events",
				      str_thousands(p->events, number));
	if (p->has_bytes)
		n += (size_t)snprintf(buf + n, PROGRESS_MAX - n, "   %s",
				      str_bytes(p->bytes, number));
	if (p->has_events)
		snprintf(buf + n, PROGRESS_MAX - n, "   %s lost", str_thousands(p->lost, number));
	return buf;
}
