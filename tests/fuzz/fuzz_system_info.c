/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "fuzz_one_file.h"
#include "gen/fields.h"
#include "procfs/machine/cpu_info.h"
#include "procfs/machine/system_info_source.c"
#include "wire/pb_dec.h"
#include "wire/pb_enc.h"

/*
 * The same bytes as /proc/cpuinfo, /proc/interrupts and every file that /sys has of a processor;
 * what comes out must be a message.
 */

/* Of the first two processors the frequencies are read from different files. */
#define CPUS "devices/system/cpu"
static const char *const paths[] = {
	CPUS "/present",
	CPUS "/cpu0/cpu_capacity",
	CPUS "/cpu0/cpufreq/scaling_available_frequencies",
	CPUS "/cpu0/cpufreq/scaling_boost_frequencies",
	CPUS "/cpu1/cpufreq/stats/time_in_state",
	CPUS "/cpu2/cpufreq/cpuinfo_min_freq",
	CPUS "/cpu2/cpufreq/cpuinfo_max_freq",
	NULL,
};

/* Thousands that may be "present" have no files, and looking for them takes all the time. */
#define STEPS_MAX 64

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_message(struct pb_mem *m, void (*check_one)(struct pb_field one))
{
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, m->buf, pb_mem_len(m));
	while (pb_dec_next(&d, &f)) {
		if (f.id != 1)
			abort();
		if (check_one)
			check_one(f);
	}
	if (!pb_dec_ok(&d) || m->enc.depth != 0)
		abort();
	pb_mem_reset(m);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	one_file_new(paths);
	return 0;
}

/* An ascending list of what fits a frequency. */
static void check_cpu(struct pb_field cpu)
{
	struct pb_field f;
	struct pb_dec d;
	uint64_t last = 0;
	bool any = false;

	pb_dec_init(&d, cpu.data, cpu.len);
	while (pb_dec_next(&d, &f)) {
		if (f.id != PB_CPU_INFO_CPU_FREQUENCIES)
			continue;
		if ((any && f.u64 <= last) || f.u64 > UINT32_MAX)
			abort();
		last = f.u64;
		any = true;
	}
	if (!pb_dec_ok(&d))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned steps = 0;
	struct span text = {(const char *)data, size};
	struct cpu_info cpus;
	struct pb_mem m;

	if (pb_mem_init(&m) < 0)
		return 0;
	one_file_put(data, size);
	cpu_info_begin(&cpus, (const char *)data, size, proc_root);
	while (steps++ < STEPS_MAX && cpu_info_write_next(&cpus, &m.enc))
		;
	check_message(&m, check_cpu);
	while (write_next_interrupt(&text, &m.enc))
		;
	check_message(&m, NULL);
	pb_mem_deinit(&m);
	return 0;
}
