/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: ftrace_bench SET compact|verbose|calls ROUNDS
 *
 * What it costs to turn ring pages into trace packets, without kernel, socket or disk: decodes the
 * recorded pages of a directory of tests/data/ftrace again and again into memory, and prints
 * nanoseconds and bytes an event. "calls" is verbose, and looks for system calls of 32-bit
 * programs, of which there are none in these pages. At the end the packets of the last round are
 * looked at once, as `sonda record` does for its summary. For instructions, which do not depend on
 * the machine's load: bench/cost.sh.
 */
#include <stdio.h>
#include <string.h>

#include "../tests/unit/ftrace/fake_writer.h"
#include "../tests/unit/ftrace/page_set.h"
#include "analyze/trace_scan.h"
#include "base/core/clock.h"
#include "ftrace/events/page_encode.h"

int main(int argc, char **argv)
{
	struct event_table_options options = {.compact = argc > 2 && !strcmp(argv[2], "compact")};
	struct writer *w = fake_writer_new(32760);
	struct cpu_stream cpu = {0};
	struct page_encoder *t;
	struct compat_syscalls *calls = NULL;
	struct trace_scan scan = {0};
	struct page_set set;
	uint64_t start, ns;
	long rounds;

	if (argc != 4 || (rounds = atol(argv[3])) <= 0) {
		fprintf(stderr, "usage: %s SET compact|verbose|calls ROUNDS\n", argv[0]);
		return 2;
	}
	page_set_load(&set, argv[1], &options);
	if (!strcmp(argv[2], "calls") &&
	    compat_syscalls_new("tests/data/calls", &options, &set.table, &calls))
		return 1;
	if (page_encoder_new(&set.table, &set.layout, w, &t))
		return 1;
	t->calls = calls;
	start = clock_mono_ns();
	for (long i = 0; i < rounds; i++) {
		fake_writer_clear(w);
		for (unsigned c = 0; c < set.n_cpus; c++) {
			for (size_t at = 0; at < set.cpus[c].len; at += set.layout.size)
				page_encode(t, &cpu, set.cpus[c].pages + at, set.layout.size);
			page_encode_end(t, &cpu);
		}
	}
	ns = clock_mono_ns() - start;
	printf("%s %s: %.1f ns/event, %.2f bytes/event, %llu events a round\n", argv[1], argv[2],
	       (double)ns / (double)cpu.events,
	       (double)fake_writer_len(w) * (double)rounds / (double)cpu.events,
	       (unsigned long long)cpu.events / (unsigned long long)rounds);
	if (trace_scan_file(&scan, w->begin, fake_writer_len(w)) || scan.bad_packets)
		return 1;
	trace_scan_deinit(&scan);
	page_encoder_free(t);
	compat_syscalls_free(calls);
	writer_free(w);
	page_set_free(&set);
	return 0;
}
