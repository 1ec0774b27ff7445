/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdlib.h>

#include "unit/../unit/procfs/fake_producer.h"

/* What linux.sys_stats wrote, whatever it read, must be messages. */

static inline void check_message(const uint8_t *data, size_t len)
{
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f))
		if (f.id == 0)
			abort();
	if (!pb_dec_ok(&d))
		abort();
}

/* And forgets them. */
static inline void check_packets(void)
{
	struct pb_field s;

	for (size_t i = 0; i < fake.n; i++) {
		check_message(fake.packets[i].data, fake.packets[i].len);
		if (fake_field(fake.packets[i].data, fake.packets[i].len, PB_TRACE_PACKET_SYS_STATS,
			       0, &s))
			check_message(s.data, s.len);
	}
	fake_reset_packets();
}
