/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: count_events TRACE
 *
 * Prints how many ftrace events a trace holds, in either encoding (FtraceEvent messages and the
 * arrays of compact sched), the bytes of the packets that carry them, how many events the kernel's
 * rings lost, and how many chunks were lost behind them, or gaps there are in its sequences.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "analyze/bundle_walk.h"
#include "analyze/trace_scan.h"
#include "base/core/mem.h"
#include "gen/fields.h"
#include "wire/pb_read.h"

struct counts {
	uint64_t events;
	uint64_t bytes;
};

static uint64_t count_compact(const struct pb_field *columns)
{
	struct compact_sums sums;

	compact_sum_up(columns, &sums);
	return sums.switches.n + sums.wakings.n;
}

static void count_packet(const struct pb_field *packet, struct counts *c)
{
	pb_for_each (f, packet) {
		if (f.id != PB_TRACE_PACKET_FTRACE_EVENTS || !f.data)
			continue;
		c->bytes += packet->len;
		pb_for_each (g, &f) {
			if (g.id == PB_FTRACE_EVENT_BUNDLE_EVENT)
				c->events++;
			else if (g.id == PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED && g.data)
				c->events += count_compact(&g);
		}
	}
}

static uint64_t lost_events(const struct ftrace_scan *s)
{
	struct cpu_loss *losses;
	uint64_t sum = 0;
	size_t n;

	if (ftrace_scan_losses(s, &losses, &n))
		return UINT64_MAX;
	for (size_t i = 0; i < n; i++)
		sum += losses[i].events;
	free(losses);
	return sum;
}

static void add_gaps(void *ctx, const struct sequence *s)
{
	*(uint64_t *)ctx += s->gaps;
}

/* By the counters of the service, or by packets that say that others are missing before them, where
 * its last counters are not in the file. */
static uint64_t lost_chunks(const struct trace_scan *scan)
{
	const struct service_stats *s = &scan->stats;
	uint64_t sum = 0, gaps = 0;

	for (size_t i = 0; i < s->n_buffers; i++)
		sum += s->buffers[i].chunks_overwritten + s->buffers[i].chunks_discarded +
		       s->buffers[i].writer_packet_loss;
	sequence_table_each(&scan->sequences, add_gaps, &gaps);
	return MAX(sum, gaps);
}

int main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	struct trace_scan scan = {0};
	struct counts c = {0};
	struct pb_field packet;
	struct pb_dec d;
	struct stat st;
	void *data;

	if (fd < 0 || fstat(fd, &st) || st.st_size == 0)
		return 2;
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return 2;
	pb_dec_init(&d, data, (size_t)st.st_size);
	while (pb_dec_next(&d, &packet))
		if (packet.data)
			count_packet(&packet, &c);
	trace_scan_file(&scan, data, (size_t)st.st_size);
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", c.events, c.bytes,
	       lost_events(&scan.ftrace), lost_chunks(&scan));
	trace_scan_deinit(&scan);
	return pb_dec_ok(&d) ? 0 : 1;
}
