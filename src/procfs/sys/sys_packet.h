/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/counters/tracks.h"
#include "base/text/span.h"
#include "base/text/str.h"
#include "client/transport/writer.h"

/*
 * Counters that the kernel has and SysStats has no number for: counter tracks with the kernel's own
 * name, in a group for each file. They are noted while a SysStats is open and written behind it.
 * Zero-initialise; without extra_counters_init nothing is noted.
 */

#define EXTRA_COUNTERS_MAX 32768
#define EXTRA_COUNTER_NONE UINT32_MAX

struct extra_counter {
	uint32_t track;
	uint32_t group; /* its handle: the name is unique in it */
	char *name; /* owned */
	int64_t value;
	double fraction; /* instead, where it is_double */
	bool is_double;
};

struct extra_counters {
	struct tracks *tracks; /* owned */
	struct extra_counter *all; /* owned */
	size_t n, cap;
	uint32_t *fresh; /* owned; which were set since the last write, room for all of them */
	size_t n_fresh, fresh_cap;
};

int extra_counters_init(struct extra_counters *x, const char *source, struct writer *w);
void extra_counters_deinit(struct extra_counters *x);

/* The group of a file, such as "vmstat". */
uint32_t extra_counters_group(struct extra_counters *x, const char *name);
/* A group in it, such as a disk or a CPU. */
uint32_t extra_counters_subgroup(struct extra_counters *x, uint32_t group, const char *name);
uint32_t extra_counters_cpu(struct extra_counters *x, uint32_t group, uint32_t cpu);
/* The counter of that name in the group, made if need be, with the unit, unit_name, unit_multiplier
 * and total of kind; EXTRA_COUNTER_NONE: there are too many. */
uint32_t extra_counters_find(struct extra_counters *x, uint32_t group, struct span name,
			     const struct track_spec *kind);
/* The same of a name that is known to be new in its group. */
uint32_t extra_counters_add(struct extra_counters *x, uint32_t group, struct span name,
			    const struct track_spec *kind);
/* Once between two writes for each counter. */
void extra_counters_set(struct extra_counters *x, uint32_t counter, int64_t value);
/* The two in one, for who has a slot for each counter, 0 at first: it is made by the first value.
 * False: there are too many. */
bool extra_counters_put(struct extra_counters *x, uint32_t *slot, uint32_t group, struct span name,
			const struct track_spec *kind, int64_t value);
void extra_counters_set_double(struct extra_counters *x, uint32_t counter, double value);

/* What was set, as of that moment. No packet may be open. */
void extra_counters_write(struct extra_counters *x, uint64_t boot_ns);

/*
 * What the sources of linux.sys_stats work with: the roots, one buffer for the file that is read,
 * the packet that is written, and what went wrong.
 *
 *	sys_packet_begin(p);              the time of what follows
 *	e = sys_packet_open(p);         a source that has a value; the first one opens the packet
 *	sys_packet_end(p);                closes it, then the counters without a number follow
 *
 * A turn without values writes nothing.
 */

/* Descriptors that one session keeps open; files beyond are opened at each read. */
#define SYS_PACKET_FDS_MAX 4096

/* What one source could not read. Zero-initialise with what. */
struct sys_errors {
	const char *what; /* "slab": the source, for people */
	char path[128]; /* the first file of which it is true */
	int error; /* its errno */
	uint64_t count; /* failures since the start */
	uint64_t written; /* of which the trace tells */
	struct sys_errors *next;
};

struct sys_packet {
	const char *proc_root; /* borrowed */
	const char *sys_root; /* borrowed */
	struct writer *w; /* borrowed */
	struct extra_counters extras;
	struct strbuf text; /* the last file that was read */
	unsigned fds; /* open now */
	uint64_t now; /* CLOCK_MONOTONIC of the turn's begin, ns */
	uint64_t begun; /* CLOCK_BOOTTIME of the same moment */
	struct pb_enc *e; /* of the open SysStats, or NULL */
	struct sys_errors *errors; /* of the sources, which own them */
	bool has_new_errors;
};

void sys_packet_deinit(struct sys_packet *p);

void sys_packet_begin(struct sys_packet *p);
struct pb_enc *sys_packet_open(struct sys_packet *p);
void sys_packet_end(struct sys_packet *p);

/* A file of the source could not be read or understood: said to the operator the first time, and
 * counted. error is an errno, positive. */
void sys_packet_error(struct sys_packet *p, struct sys_errors *t, const char *path, int error);
/* The same where /sys tells of no CPU at all. */
void sys_packet_no_cpus(struct sys_packet *p, struct sys_errors *t);
/* Says how often, at the end. */
void sys_packet_log_errors(const struct sys_packet *p);
/* Brings the counts of failures, and the last values of counters without a number, into the trace:
 * at a flush and at the stop. Piece by piece, true: there are more. No packet may be open. */
bool sys_packet_flush(struct sys_packet *p);
