/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "../tests/unit/procfs/fake_producer.h"
#include "base/core/clock.h"
#include "procfs/sys/sys_source.h"

/*
 * usage: sys_stats_polls [POLLS]
 *
 * Polls every source of linux.sys_stats on this machine, one poll after the other without a pause,
 * and throws away what comes out: CPU time of a poll, and resident memory after a twentieth of the
 * polls and after all. Exits with 1 when the memory grew.
 */

#define SOURCES_MAX 16

static long resident_kb(void)
{
	long kb = -1;
	char line[128];
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmRSS: %ld", &kb) == 1)
			break;
	if (f)
		fclose(f);
	return kb;
}

static void poll_all(struct sys_packet *p, struct sys_state **states)
{
	sys_packet_begin(p);
	for (unsigned i = 0; sys_sources[i]; i++)
		while (sys_source_step(states[i], p))
			;
	sys_packet_end(p);
	fake_reset_packets();
}

int main(int argc, char **argv)
{
	Pb__SysStatsConfig c = PB__SYS_STATS_CONFIG__INIT;
	struct sys_packet p = {.proc_root = "/proc", .sys_root = "/sys"};
	unsigned polls = argc > 1 ? (unsigned)atoi(argv[1]) : 36000;
	struct sys_state *states[SOURCES_MAX];
	long early = 0, late;
	uint64_t begin;

	p.w = writer_new(NULL, 1, WRITER_DROP);
	if (!p.w || extra_counters_init(&p.extras, "linux.sys_stats", p.w) < 0)
		return 1;
	for (unsigned i = 0; sys_sources[i]; i++)
		if (sys_source_open(sys_sources[i], &p, &c, &states[i]) < 0)
			return 1;
	begin = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (unsigned i = 0; i < polls; i++) {
		poll_all(&p, states);
		if (i == polls / 20)
			early = resident_kb();
	}
	late = resident_kb();
	printf("%u polls: %.1f us CPU each; resident %ld kB after %u, %ld kB after all\n", polls,
	       (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin) / 1e3 / polls, early,
	       polls / 20, late);
	return late <= early + 64 ? 0 : 1;
}
