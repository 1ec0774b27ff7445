/* SPDX-License-Identifier: Apache-2.0 */
/* A trace file of any bytes, read as the end-of-record summary reads it. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "analyze/contents.h"
#include "analyze/trace_scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void touch(void *ctx, const struct sequence *s)
{
	*(uint64_t *)ctx += s->packets + s->gaps;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_scan s = {0};
	struct contents contents = {.n_machines = 0};
	struct content_row *rows;
	struct group_count *groups;
	struct cpu_loss *losses;
	uint64_t sum = 0;
	size_t n;

	s.contents = &contents;
	/* As a file, and as one packet: the latter reaches deeper with fewer bytes. */
	trace_scan_file(&s, data, size);
	trace_scan_packet(&s, data, size);
	sequence_table_each(&s.sequences, touch, &sum);
	if (!event_counts_by_group(&s.ftrace.counts, &groups, &n)) {
		uint64_t in_groups = 0;

		while (n)
			in_groups += groups[--n].count;
		if (in_groups != s.ftrace.counts.total)
			abort();
		free(groups);
	}
	if (!ftrace_scan_losses(&s.ftrace, &losses, &n))
		free(losses);
	if (!contents_list_rows(&contents, &rows, &n))
		free(rows);
	contents_deinit(&contents);
	trace_scan_deinit(&s);
	return 0;
}
