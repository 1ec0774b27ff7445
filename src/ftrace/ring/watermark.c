// SPDX-License-Identifier: Apache-2.0
/*
 * The kernel counts whole sub-buffers, and the one that it writes to as full:
 *
 *	|####|####|##..|....|....|....|....|....|     2 + 1 of 8: 37 percent is reached, 38 is not
 *
 * So with 12 percent of these the watermark would be reached while the ring is empty.
 */
#include "ftrace/ring/watermark.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/core/mem.h"
#include "config/limits.h"
#include "ftrace/ring/ring_size.h"

bool watermark_kernel_can(const char *release)
{
	unsigned major, minor;

	return sscanf(release, "%u.%u", &major, &minor) == 2 &&
	       (major > 6 || (major == 6 && minor >= 9));
}

uint32_t watermark_least(uint32_t percent, uint32_t subbufs)
{
	uint32_t least = subbufs ? 200 / subbufs + 1 : UINT32_MAX;

	return MAX(percent, least);
}

/* 0, or a sentence why not. */
static const char *start_watching(const struct instance *i, uint32_t percent,
				  struct ring_listener *l)
{
	struct utsname kernel;
	char text[16];
	int r;

	if (i->keeps_ring)
		return "the rings are to stay as they are";
	if (percent > 100)
		return "the rings have too few sub-buffers";
	if (uname(&kernel) || !watermark_kernel_can(kernel.release))
		return "it takes Linux 6.9";
	snprintf(text, sizeof(text), "%u", percent);
	r = instance_write(i, "buffer_percent", text);
	if (!r)
		r = ring_can_watch(l);
	if (r)
		return r == -EOPNOTSUPP ? "the kernel's rings do not wait for it" : strerror(-r);
	l->watch = true;
	return NULL;
}

/* As the config asks for, which is told where it cannot be. */
static const char *watch_as_asked(const struct instance *i, uint32_t asked, uint32_t subbufs,
				  struct ring_listener *l, struct reports *reports)
{
	uint32_t percent = watermark_least(asked, subbufs);
	const char *why = asked > 100 ? "more than 100" : start_watching(i, percent, l);

	if (why)
		report_failed(reports, "option:drain_buffer_percent (%u: %s; read by the clock)",
			      asked, why);
	else if (percent != asked)
		report_failed(reports,
			      "option:drain_buffer_percent (%u: %u it is, of so few sub-buffers)",
			      asked, percent);
	return why;
}

void watermark_set_up(const struct instance *i, const struct ftrace_settings *s,
		      struct ring_listener *l, struct reports *reports)
{
	uint32_t subbufs = ring_size_kb(i) / ring_size_subbuf_kb(i);
	const char *why = NULL;

	if (s->watermark)
		why = watch_as_asked(i, s->watermark, subbufs, l, reports);
	else if (!s->period_is_set)
		why = start_watching(i, watermark_least(WATERMARK_PRESET, subbufs), l);
	if (!why && !s->period_is_set)
		l->period_ms = WATERMARK_DRAIN_PERIOD_MS;
}
