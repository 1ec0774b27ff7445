// SPDX-License-Identifier: Apache-2.0
/* A trace file of any bytes, cut into parts: what is written is valid protobuf. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "analyze/cut/cut_parts.h"
#include "gen/fields.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool any_field(uint32_t field)
{
	(void)field;
	return true;
}

static int check(void *ctx, size_t part, const uint8_t *packet, size_t len)
{
	size_t *n_parts = ctx;
	struct packet p;

	if (part >= *n_parts || !packet_read(&p, packet, len, any_field))
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct cut_overview o;
	struct cut_range ranges[4];
	size_t n = 4;
	const struct cut_parts_config config = {
		.ranges = ranges,
		.n_ranges = n,
		.write = check,
		.ctx = &n,
	};
	struct cut_result result;

	if (cut_overview_read(&o, data, size, false) == 0 && o.start <= o.end) {
		int64_t step = (o.end - o.start) / (int64_t)n + 1;

		for (size_t i = 0; i < n; i++)
			ranges[i] = (struct cut_range){
				.from = o.start + (int64_t)i * step,
				.to = o.start + (int64_t)(i + 1) * step,
			};
		/* Also of traces that the program refuses: their bytes are handled, though not
		 * their meaning. */
		cut_overview_refusal(&o);
		cut_parts_write(&o, data, size, false, &config, &result);
	}
	cut_overview_deinit(&o);
	return 0;
}
