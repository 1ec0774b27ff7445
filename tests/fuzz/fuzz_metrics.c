/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets of any bytes, as sonda metrics takes them. The input is a trace: each packet of it is one. All
 * formats are written, whose lines must be whole.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/metrics/metrics_feed.h"
#include "analyze/metrics/metrics_write.h"
#include "base/text/str.h"
#include "wire/pb_dec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_all(const struct metrics_table *t)
{
	for (int format = 0; format < METRICS_FORMATS; format++) {
		struct strbuf out = {0};

		metrics_write(t, (enum metrics_format)format, &out);
		if (format != METRICS_PROTOBUF && out.len && out.s[out.len - 1] != '\n')
			abort();
		strbuf_deinit(&out);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct metrics_limits limits = {.subjects = 4, .series = 200};
	const struct metrics_setup setup = {.gone_ns = 1000000000, .choose_ns = 1000};
	struct metrics_table *table;
	struct metrics_feed *feed;
	struct pb_field f;
	struct pb_dec d;
	size_t n = 0;

	if (metrics_table_new(&limits, &table))
		return 0;
	if (metrics_feed_new(&setup, table, &feed))
		abort();
	pb_dec_init(&d, data, size);
	while (pb_dec_next(&d, &f)) {
		if (f.id != 1 || !f.data)
			continue;
		metrics_feed_add(feed, f.data, f.len);
		if (n++ % 4 == 3)
			metrics_feed_end_period(feed, 0);
		if (n % 64 == 63)
			metrics_feed_begin_session(feed);
	}
	metrics_feed_end_period(feed, 0);
	write_all(table);
	metrics_feed_free(feed);
	metrics_table_free(table);
	return 0;
}
