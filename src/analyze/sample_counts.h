/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many packets a trace has of what is polled or counted, and of what programs say themselves:
 * for recordings that are not about the kernel's events. */

enum sample_kind {
	SAMPLES_SYS_STATS, /* polls of linux.sys_stats */
	SAMPLES_PROCESS_STATS, /* polls of linux.process_stats */
	SAMPLES_BATTERY, /* polls of linux.sysfs_power */
	SAMPLES_JOURNAL, /* lines of linux.systemd_journald */
	SAMPLES_COUNTERS, /* values of counter tracks: eBPF, control groups, network, programs */
	SAMPLES_SLICES, /* other track events, of programs */
	SAMPLES_KINDS
};

struct sample_counts {
	uint64_t of[SAMPLES_KINDS];
};

/* Is this payload of a TracePacket one of them? */
bool sample_counts_reads(uint32_t packet_field);
/* One payload of any kind. */
void sample_counts_add(struct sample_counts *c, uint32_t packet_field, const uint8_t *data,
		       size_t len);
uint64_t sample_counts_total(const struct sample_counts *c);
/* "sys_stats", for people and programs. */
const char *sample_counts_name(enum sample_kind kind);
