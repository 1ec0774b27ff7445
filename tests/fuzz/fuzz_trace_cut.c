/* SPDX-License-Identifier: Apache-2.0 */
/* A trace file of any bytes, cut into parts: what is written is valid protobuf. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "analyze/cut/cut_parts.h"
#include "base/core/mem.h"
#include "gen/fields.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool any_field(uint32_t field)
{
	(void)field;
	return true;
}

#define PARTS 4

struct parts_of {
	const struct cut_overview *o;
	size_t opened;
	bool has[PARTS];
};

/* Parts of the same length; events before and behind them are in none. */
static bool range_of(void *ctx, int64_t ts, struct cut_range *ret, uint64_t *ret_number)
{
	const struct parts_of *p = ctx;
	int64_t step = (p->o->end - p->o->start) / PARTS + 1;

	if (ts < p->o->start || ts > p->o->end)
		return false;
	*ret_number = (uint64_t)((ts - p->o->start) / step);
	ret->first = p->o->start + (int64_t)*ret_number * step;
	ret->last = ret->first + MIN(step - 1, INT64_MAX - ret->first);
	return true;
}

static int open_part(void *ctx, uint64_t number)
{
	struct parts_of *p = ctx;

	if (number >= PARTS || p->has[number])
		abort();
	p->has[number] = true;
	p->opened++;
	return 0;
}

static int check(void *ctx, size_t part, const uint8_t *packet, size_t len)
{
	const struct parts_of *p = ctx;
	struct packet read;

	if (part >= p->opened || !packet_read(&read, packet, len, any_field))
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct cut_overview o;
	struct parts_of parts = {.o = &o};
	const struct cut_parts_config config = {
		.range_of = range_of,
		.open = open_part,
		.write = check,
		.ctx = &parts,
	};
	struct cut_result result;

	if (cut_overview_read(&o, data, size, false) == 0 && o.start <= o.end) {
		/* Also of traces that the program refuses: their bytes are handled, though not
		 * their meaning. */
		cut_overview_refusal(&o);
		cut_parts_write(&o, data, size, false, &config, &result);
	}
	cut_overview_deinit(&o);
	return 0;
}
