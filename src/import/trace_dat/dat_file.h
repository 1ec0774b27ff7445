/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ftrace/ring/ring_stats.h"
#include "import/file/import_result.h"
#include "import/formats/tracing_data.h"

/*
 * The structure of a trace.dat: where the pages of each CPU are, and all that describes them.
 *
 *	version 6   head, descriptions (tracing_data.h), options, for each CPU offset and size.
 *	            An option names each further buffer, which has options and CPUs of its own
 *	version 7   head, then sections; a chain of sections with options names all others.
 *	            A section may be compressed
 *
 * Format: trace-cmd.dat.v6(5), trace-cmd.dat.v7(5).
 */
#define DAT_CPUS_MAX 4096
#define DAT_BUFFERS_MAX 256
#define DAT_PAGE_MAX (1u << 20)

struct dat_cpu {
	uint32_t cpu;
	uint64_t offset, size; /* in the file */
};

struct dat_buffer {
	char name[128]; /* of the tracefs instance; "": the top level */
	char clock[32]; /* "": that of the file */
	uint32_t page_size;
	bool is_compressed;
	struct dat_cpu *cpus; /* owned */
	size_t n_cpus;
	struct ring_stats_all stats; /* owned: the kernel's counters at the end of the recording */
	size_t stats_cap;
};

/* How to convert times of the clock x86-tsc to ns. */
struct dat_tsc {
	bool is_known;
	uint32_t multiplier, shift;
	uint64_t offset;
};

struct dat_file {
	const uint8_t *data; /* borrowed */
	size_t len;
	struct tracing_head head;
	char compression[16]; /* version 7: "none", "zstd" or "zlib" */
	struct tracing_data described;
	char clock[32], recorder[64];
	char machine[256]; /* sysname, nodename, release and machine; "": unknown */
	int64_t shift_ns; /* to add to all times */
	bool has_date;
	int64_t date_ns; /* CLOCK_REALTIME minus the trace clock */
	struct dat_tsc tsc;
	struct dat_buffer *buffers; /* owned; the first one is the top level */
	size_t n_buffers, buffers_cap;
};

/* Reads all but the pages. Notes what is not imported. Returns 0, or an error that is in result.
 * The caller calls dat_file_deinit in both cases. */
int dat_file_read(const uint8_t *data, size_t len, struct dat_file *ret,
		  struct import_result *result);
void dat_file_deinit(struct dat_file *f);
