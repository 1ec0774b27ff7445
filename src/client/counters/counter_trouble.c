/* SPDX-License-Identifier: Apache-2.0 */
#include "client/counters/counter_trouble.h"

#include <stdio.h>

#include "base/core/clock.h"
#include "client/transport/writer.h"
#include "gen/fields.h"
#include "wire/pb_enc.h"

void counter_trouble_read(struct counter_trouble *t, bool is_new, const char *path, int error)
{
	t->failures++;
	if (!is_new || t->n == COUNTER_TROUBLE_KINDS)
		return;
	snprintf(t->kinds[t->n].path, COUNTER_TROUBLE_PATH, "%s", path);
	t->kinds[t->n].error = error;
	t->n++;
	t->is_new = true;
}

void counter_trouble_refused(struct counter_trouble *t, uint64_t refused)
{
	t->is_new |= refused && !t->refused;
	t->refused = refused;
}

void counter_trouble_clear(struct counter_trouble *t)
{
	t->written = 0;
	t->is_new = t->failures || t->refused;
}

void counter_trouble_write(struct counter_trouble *t, struct writer *w, const char *source,
			   bool all)
{
	uint64_t sum = t->failures + t->refused;
	struct pb_enc *e;

	if (!t->is_new && (!all || sum == t->written))
		return;
	t->is_new = false;
	t->written = sum;
	e = writer_begin(w);
	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, clock_boot_ns());
	pb_enc_open(e, PB_TRACE_PACKET_POLLED_COUNTERS_STATS);
	pb_enc_str(e, PB_POLLED_COUNTERS_STATS_SOURCE, source);
	for (unsigned i = 0; i < t->n; i++) {
		pb_enc_open(e, PB_POLLED_COUNTERS_STATS_READ_FAILURES);
		pb_enc_str(e, PB_POLLED_COUNTERS_STATS_READ_FAILURE_PATH, t->kinds[i].path);
		pb_enc_i64(e, PB_POLLED_COUNTERS_STATS_READ_FAILURE_ERROR, t->kinds[i].error);
		pb_enc_close(e);
	}
	pb_enc_u64(e, PB_POLLED_COUNTERS_STATS_FAILED_READS, t->failures);
	if (t->refused)
		pb_enc_u64(e, PB_POLLED_COUNTERS_STATS_REFUSED_TRACKS, t->refused);
	pb_enc_close(e);
	writer_end(w);
}
