/* SPDX-License-Identifier: Apache-2.0 */
/* Packets of any bytes, as sonda top takes them. The input is a trace: each packet of it is one. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/live/live.h"
#include "gen/fields.h"
#include "wire/pb_dec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void touch(void *ctx, const struct live_process *p)
{
	*(size_t *)ctx += strlen(p->name);
	for (size_t i = 0; i < LIVE_METRICS; i++)
		if (p->values[i].has_rate && p->values[i].rate < 0)
			abort();
}

static void touch_group(void *ctx, const struct live_group *g)
{
	for (size_t i = 0; i < LIVE_GROUP_TEXTS; i++)
		*(size_t *)ctx += g->texts[i] ? strlen(g->texts[i]) : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* The options of sonda top, by the last byte. */
	const struct live_setup setup = {.period_ns = 1000000000,
					 .top_n = 8,
					 .by_thread = size && data[size - 1] & 1,
					 .has_groups = true,
					 .has_programs = true};
	size_t sum = 0, n = 0;
	struct live *live;
	struct pb_field f;
	struct pb_dec d;

	if (live_new(&setup, &live))
		return 0;
	pb_dec_init(&d, data, size);
	while (pb_dec_next(&d, &f)) {
		if (f.id != 1 || !f.data)
			continue;
		live_add_packet(live, f.data, f.len);
		if (n++ % 4 == 3)
			live_end_period(live);
	}
	live_end_period(live);
	live_each_process(live, touch, &sum);
	live_each_group(live, LIVE_BY_GROUP, touch_group, &sum);
	live_each_group(live, LIVE_BY_PROGRAM, touch_group, &sum);
	if (live_machine(live)->cpus > size)
		abort();
	live_free(live);
	return 0;
}
